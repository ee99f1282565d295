// Tables whose rows stay where they are while their numbers change, so that one can read and select them.

export class Table {
  // columns: [[heading, item => text or node, class], ..]; empty: what stands in place of no rows.
  constructor(panel, columns, { key, empty, look = () => "" }) {
    this.columns = columns;
    Object.assign(this, { key, look, rows: new Map() });
    this.table = element("table");
    const head = element("tr");
    for (const [heading, , name = ""] of columns) head.append(element("th", heading, name));
    const thead = element("thead");
    thead.append(head);
    this.body = element("tbody");
    this.table.append(thead, this.body);
    this.empty = element("p", empty, "empty");
    const scroller = element("div", "", "scroller");
    scroller.append(this.table);
    panel.append(scroller, this.empty);
  }

  show(items) {
    this.empty.hidden = items.length > 0;
    this.table.hidden = !items.length;
    const seen = new Map();
    items.forEach((item, i) => {
      const key = this.key(item);
      const row = this.rows.get(key) ?? this.make();
      row.className = this.look(item);
      this.columns.forEach(([, value], j) => set(row.cells[j], value(item)));
      if (this.body.children[i] !== row) this.body.insertBefore(row, this.body.children[i] ?? null);
      seen.set(key, row);
    });
    for (const [key, row] of this.rows) if (!seen.has(key)) row.remove();
    this.rows = seen;
  }

  make() {
    const row = element("tr");
    for (const [heading, , name = ""] of this.columns) {
      const cell = element("td", "", name);
      cell.dataset.label = heading;
      row.append(cell);
    }
    return row;
  }
}

export function element(tag, text = "", name = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

export function chip(text, name) {
  return element("span", text, `chip ${name}`);
}

// One line, the whole of it where the mouse rests.
export function line(text, name = "") {
  const made = element("span", text, `cut ${name}`);
  made.title = text;
  return made;
}

export function group(...parts) {
  const made = element("div", "", "group");
  made.append(...parts);
  return made;
}

export function stack(...parts) {
  const made = group(...parts);
  made.classList.add("stack");
  return made;
}

function set(cell, value) {
  if (typeof value === "string") {
    if (cell.childElementCount || cell.textContent !== value) cell.textContent = value;
  } else if (!cell.firstChild?.isEqualNode(value) || cell.childNodes.length !== 1) {
    cell.replaceChildren(value);
  }
}
