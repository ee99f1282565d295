// What stands in the tables of the page.

import { between, clock, count, money, pace, plural, seconds, share, span } from "./format.js";
import { Table, chip, element, group, line, stack } from "./table.js";

let now = ""; // the server's clock, at the latest answer

const place = (id) => document.getElementById(id);

const relqueries = new Table(place("relqueries"), [
  ["", (rel) => (rel.place === null ? "" : String(rel.place)), "number place"],
  ["user", (rel) => line(rel.user)],
  ["call", (rel) => group(element("b", `${rel.function}()`), line(rel.template, "template"), line(rel.model, "dim")), "call"],
  ["rows", progress, "rows"],
  ["phase", (rel) => chip(rel.state === "running" ? rel.phase ?? "running" : rel.state, phaseOf(rel))],
  ["priority", (rel) => (rel.priority === null ? "" : rel.priority < 1e4 ? rel.priority.toFixed(2) : count(rel.priority)), "number"],
  ["tokens/s", (rel) => (rel.tokens_per_s === null ? "" : pace(rel.tokens_per_s)), "number"],
  ["cost", (rel) => money(rel.cost), "number"],
  ["work left", (rel) => (rel.left_s === null ? "" : span(rel.left_s)), "number"],
  ["predicted end", ending, "number end"],
  ["time", (rel) => (rel.state === "running" ? span(between(rel.started, now)) : seconds(rel.seconds)), "number"],
], {
  key: (rel) => rel.rel_id,
  look: (rel) => (rel.state === "running" ? "" : "ended"),
  empty: "Nothing has been asked yet. Each llm function in a client's statement appears here while it runs.",
});

const errors = new Table(place("errors"), [
  ["at", (error) => clock(error.at), "number left"],
  ["user", (error) => line(error.user)],
  ["rows", (error) => count(error.rows), "number"],
  ["why", (error) => group(chip(error.kind.replace("_", " "), "failed"), element("span", error.message, "message")), "why"],
], { key: (error) => `${error.rel_id} ${error.kind}`, empty: "No row has failed." });

const engines = new Table(place("engines"), [
  ["engine", (engine) => stack(line(engine.model, "strong"), line(`${engine.variant}, pid ${engine.pid}`, "dim")), "engine"],
  ["relQueries", (engine) => count(engine.relqueries), "number"],
  ["running", (engine) => count(engine.running), "number"],
  ["waiting", (engine) => count(engine.waiting), "number"],
  ["KV cache", (engine) => group(bar([["used", engine.kv_used]]), element("span", share(engine.kv_used))), "kv"],
  ["step budget", budgetOf],
  ["state", stateOf],
], {
  key: (engine) => `${engine.pid} ${engine.model} ${engine.nth}`,
  empty: "No engine of this machine tells what it does. One starts with the first llm function; servers behind a URL do not tell.",
});

const fleets = new Table(place("fleets"), [
  ["member", (each) => stack(line(each.name, "strong"), line(`${each.model}, owner ${each.pid}`, "dim"))],
  ["where", (each) => line(each.where)],
  ["state", memberState],
  ["rows", (each) => count(each.rows), "number"],
  ["answered", (each) => count(each.answered), "number"],
  ["deaths", (each) => count(each.deaths), "number"],
  ["waiting in it", (each) => (each.queued === null ? "" : count(each.queued)), "number"],
  ["report's age", (each) => (each.age_s === null ? "" : `${Math.round(1000 * each.age_s)} ms`), "number"],
  ["chosen by", (each) => line(each.reason)],
], {
  key: (each) => `${each.pid} ${each.model} ${each.name}`,
  empty: "No fleet is up. One starts with the first call of a model fleet:FILE.",
});

const openai = new Table(place("openai"), [
  ["user", (each) => line(each.user)],
  ["under way", (each) => count(each.running), "number"],
  ["answered", (each) => count(each.codes["200"] ?? 0), "number"],
  ["others", (each) => group(...Object.entries(each.codes).filter(([code]) => code !== "200").map(statusOf))],
  ["tokens", (each) => count(each.tokens), "number"],
], { key: (each) => each.user, empty: "No OpenAI client has asked yet. They come in by relserve serve --openai." });

const clients = new Table(place("connected"), [
  ["pid", (client) => String(client.pid), "number left"],
  ["user", (client) => line(client.user)],
  ["application", (client) => line(client.application || "–")],
  ["address", (client) => line(client.address)],
  ["state", (client) => chip(client.state, client.state === "active" ? "core" : client.state === "idle" ? "idle" : "waiting")],
  ["for", (client) => span(between(client.since, now)), "number"],
  ["statement", (client) => line(client.statement ?? "", client.state === "active" ? "template" : "template dim"), "statement"],
], { key: (client) => String(client.pid), empty: "Nobody is connected." });

export function show(status) {
  now = status.time;
  relqueries.show(status.relqueries);
  errors.show(status.errors);
  engines.show(status.engines.map((engine, nth) => ({ ...engine, nth })));
  fleets.show(status.fleets.flatMap(({ pid, model, members }) => members.map((each) => ({ ...each, pid, model }))));
  openai.show(status.openai);
  const order = (client) => (client.state === "idle" ? 2 : client.state === "active" ? 0 : 1);
  clients.show(status.clients.toSorted((a, b) => order(a) - order(b) || a.pid - b.pid));
}

function statusOf([code, number]) {
  return chip(`${code}: ${count(number)}`, code === "499" ? "idle" : code === "429" ? "waiting" : "failed");
}

function phaseOf(rel) {
  if (rel.state !== "running") return rel.state;
  return { waiting: "waiting", "tail running": "tail" }[rel.phase] ?? "core";
}

function progress(rel) {
  const words = `${count(rel.done)} / ${count(rel.rows)}`;
  const notes = [];
  if (rel.failed) notes.push(element("span", `${count(rel.failed)} failed`, "bad"));
  if (rel.cached) notes.push(element("span", plural(rel.cached, "kept answer", "kept answers"), "dim"));
  if (rel.state !== "running") return group(element("span", words), ...notes);
  const answered = rel.rows ? (rel.done - Math.min(rel.failed, rel.done)) / rel.rows : 0;
  const failed = rel.rows ? Math.min(rel.failed, rel.done) / rel.rows : 0;
  return stack(bar([["answered", answered], ["failed", failed]]), group(element("span", words), ...notes));
}

function bar(parts) {
  const made = element("div", "", "bar");
  for (const [name, part] of parts) {
    const fill = element("i", "", name);
    fill.style.width = `${(Math.min(Math.max(part, 0), 1) * 100).toFixed(2)}%`;
    made.append(fill);
  }
  return made;
}

function ending(rel) {
  if (rel.state !== "running") return rel.error ? line(rel.error, "bad") : "";
  if (rel.end === null) return "–";
  return group(element("b", clock(rel.end)), element("span", ` in ${span(between(now, rel.end))}`, "dim"));
}

function memberState(member) {
  const look = member.shown === "up" ? "core" : member.state === "up" ? "waiting" : "failed";
  return group(chip(member.shown, look), line(member.why ?? "", "bad"));
}

function budgetOf(engine) {
  const steps = engine.steps;
  if (!steps || steps.tokens === null) return line("–", "dim");
  const target = steps.target_s === null ? "" : ` in ${(1000 * steps.target_s).toPrecision(3)} ms`;
  const sure = steps.r2 === null ? "" : `, R² ${steps.r2.toFixed(2)}`;
  return stack(line(`${count(steps.tokens)} tokens${target}`), line(`${steps.policy}: ${steps.reason}${sure}`, "dim"));
}

function stateOf(engine) {
  if (!engine.running && !engine.waiting) return chip("idle", "idle");
  return engine.silent_s > 5 ? chip(`silent for ${span(engine.silent_s)}`, "failed") : chip("busy", "core");
}
