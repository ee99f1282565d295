// Asks the server once a second what goes on, and shows it.

import { draw, reach } from "./chart.js";
import { between, count, pace, plural, seconds, share, span } from "./format.js";
import { show } from "./tables.js";

const EVERY_MS = 1000, PATIENCE_MS = 10000;
const THEMES = ["auto", "dark", "light"];

const place = (id) => document.getElementById(id);
const say = (id, text) => { if (place(id).textContent !== text) place(id).textContent = text; };
let heard = Date.now();

async function ask() {
  try {
    // The origin, for the address may hold the token, which fetch() does not take.
    const reply = await fetch(`${location.origin}/api/status`, { signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!reply.ok) throw new Error(`the server answers ${reply.status}`);
    const status = await reply.json();
    tiles(status);
    show(status);
    heard = Date.now();
    live("live", true);
  } catch (error) {
    live(`no answer for ${span((Date.now() - heard) / 1000)}: ${error.message}`, false);
  }
}

function live(text, isLive) {
  say("live", text);
  place("live").className = isLive ? "live on" : "live off";
  document.body.classList.toggle("stale", !isLive);
}

function tiles({ server, now, series, time, relqueries }) {
  say("server", `${server.version}, pid ${server.pid}, up for ${span(between(server.started, time))}`);
  const total = now.prompt_tokens_per_s === null ? null : now.prompt_tokens_per_s + now.output_tokens_per_s;
  const running = relqueries.filter((rel) => rel.state === "running").length;
  document.title = running ? `${running} running · relserve` : "relserve";
  say("tokens", pace(total));
  say("tokens-sub", total === null ? "" : `${pace(now.output_tokens_per_s)} in answers, ${pace(now.prompt_tokens_per_s)} in prompts`);
  draw(place("tokens-chart"), series, [
    ["output", (step) => step.output_tokens_per_s], ["prompt", (step) => step.prompt_tokens_per_s],
  ]);
  say("reach", `${plural(reach(series) / 60, "minute", "minutes")} ago`);
  say("requests", count(now.running + now.waiting));
  say("requests-sub", `${count(now.running)} running, ${count(now.waiting)} waiting`);
  draw(place("requests-chart"), series, [["output", (step) => step.running], ["queue", (step) => step.waiting]], { label: count });
  say("kv", share(now.kv_used));
  say("kv-sub", now.kv_used === null ? "no engine" : "of the fullest engine");
  draw(place("kv-chart"), series, [["output", (step) => step.kv_used]], { top: 1, label: share });
  say("statements", pace(now.statements_per_s));
  say("statements-sub", latencies(now));
  draw(place("statements-chart"), series, [["output", (step) => step.statements_per_s]]);
  say("clients", count(now.clients));
  say("clients-sub", `${count(now.active)} at work, ${plural(now.errors, "error", "errors")}`);
  draw(place("clients-chart"), series, [["output", (step) => step.active]], { label: count });
}

function latencies(now) {
  if (now.half_within_s === null) return "none in the last minute";
  const most = now.nearly_all_within_s;
  return `half in ${seconds(now.half_within_s)}, 99 % in ${most === null ? "more than 30 min" : seconds(most)}`;
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  say("theme", name);
}

place("theme").addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
  localStorage.setItem("theme", next);
  theme(next);
});
theme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto");

async function askOn() {
  if (!document.hidden) await ask();
  setTimeout(askOn, EVERY_MS);
}
askOn();
