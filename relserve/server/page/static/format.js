// Numbers and times as people read them.

const NONE = "–";

export function count(number) {
  return number === null ? NONE : Math.round(number).toLocaleString("en");
}

export function pace(number) {
  if (number === null) return NONE;
  return number > 0 && number < 10 ? number.toFixed(1) : count(number);
}

// US dollars; nothing where the price is unknown.
export function money(number) {
  return number === null ? "" : `$${number >= 0.995 || number === 0 ? number.toFixed(2) : number.toPrecision(2)}`;
}

export function share(number) {
  return number === null ? NONE : `${Math.round(number * 100)} %`;
}

export function seconds(number) {
  if (number === null) return NONE;
  if (number < 0.9995) return `${Number((number * 1000).toPrecision(3))} ms`;
  if (number < 59.5) return `${number < 9.95 ? number.toFixed(1) : Math.round(number)} s`;
  const whole = Math.round(number);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  const hours = Math.floor(whole / 3600);
  if (hours < 48) return `${hours} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// A length of time that changes while one looks: no parts of a second.
export function span(number) {
  return number === null || number >= 0.9995 ? seconds(number) : "0 s";
}

export function between(from, to) {
  return Math.max((Date.parse(to) - Date.parse(from)) / 1000, 0);
}

export function clock(time) {
  return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

export function plural(number, one, many) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
