// Tables that sort by their columns, and draw long lists in parts.
import { button, element } from "./dom.js";
import { count } from "./numbers.js";

const PART = 200; // rows that are drawn at a time
const TURNED = { ascending: "descending", descending: "ascending" };

function compare(a, b) {
  return typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
}

/** Sort rows by `key`; rows without a key stay last, equal ones keep their order. */
function sorted(rows, key, direction) {
  const sign = direction === "ascending" ? 1 : -1;
  return rows.toSorted((one, other) => {
    const [a, b] = [key(one), key(other)];
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * compare(a, b);
  });
}

/**
 * A table in a frame that scrolls. Columns are {title, key: row → number, string or null, cell: row → node or text,
 * numeric, heads: whether it names the row, sorted: the initial order, first: the direction of the first press}; `drawn(row, tr, next, initial)` is called for each row on the page,
 * with the next row, and whether the rows are in their initial order.
 */
export function sortable({ label, columns, rows, drawn = () => {} }) {
  let order = rows;
  let most = PART;
  const made = new Map(); // an element for each row, so that focus and pressed buttons survive sorting
  const body = element("tbody");
  const more = button("", () => {
    most += PART;
    draw();
  }, { hidden: true });
  const heads = columns.map((column) => {
    const head = element("th", { scope: "col", class: column.numeric ? "numeric" : null, "aria-sort": column.sorted ?? null });
    const sign = element("span", { class: "arrow", "aria-hidden": "true" });
    head.append(button([column.title, sign], () => sort(column, head), { class: "sort" }));
    return head;
  });

  function sort(column, head) {
    const before = head.getAttribute("aria-sort");
    const direction = before ? TURNED[before] : column.first ?? "ascending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    order = sorted(rows, column.key, direction);
    draw();
  }

  function line(row) {
    if (!made.has(row)) {
      made.set(row, element("tr", {}, columns.map((column) => element(
        column.heads ? "th" : "td", { scope: column.heads ? "row" : null, class: column.numeric ? "numeric" : null }, column.cell(row)))));
    }
    return made.get(row);
  }

  function draw() {
    const shown = order.slice(0, most);
    const initial = shown.every((row, place) => row === rows[place]);
    body.replaceChildren(...shown.map((row, place) => {
      const drawnRow = line(row);
      drawn(row, drawnRow, order[place + 1] ?? null, initial);
      return drawnRow;
    }));
    more.hidden = order.length <= most;
    more.textContent = `Show ${count(Math.min(PART, order.length - most))} more of ${count(order.length)}`;
  }

  draw();
  const table = element("table", { class: "sortable" },
    element("caption", { class: "hidden" }, `${label}; the buttons in the header sort it.`),
    element("thead", {}, element("tr", {}, heads)), body);
  return element("div", {}, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table), more);
}
