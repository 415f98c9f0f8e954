// Extract one data set from a table or JSON lines with several.
const LARGEST = 20_000_000; // characters; reading longer texts would block the page
const COLUMN = "dataset";

/** Fields of delimited text (RFC 4180), line by line. */
function* records(text, delimiter) {
  let fields = [];
  let at = 0;
  while (at < text.length) {
    let field = "";
    if (text[at] === '"') {
      let end = text.indexOf('"', at + 1);
      while (text[end + 1] === '"') end = text.indexOf('"', end + 2);
      if (end < 0) return;
      field = text.slice(at + 1, end).replaceAll('""', '"');
      at = end + 1;
    } else {
      let end = at;
      while (end < text.length && text[end] !== delimiter && text[end] !== "\n") end += 1;
      field = text.slice(at, end).replace(/\r$/, "");
      at = end;
    }
    fields.push(field);
    if (text[at] === "\r") at += 1;
    if (text[at] !== delimiter || at >= text.length) {
      yield fields;
      fields = [];
    } else if (at === text.length - 1) {
      yield [...fields, ""];
    }
    at += 1;
  }
}

const quoted = (field, delimiter) => (field.includes(delimiter) || /["\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);

function ofTable(text, name, delimiter) {
  const [header, ...rows] = records(text, delimiter);
  const place = header.findIndex((title) => title.trim().toLowerCase() === COLUMN);
  if (place < 0) return null;
  const kept = rows.filter((row) => row[place]?.trim() === name);
  return [header, ...kept].map((row) => row.toSpliced(place, 1).map((field) => quoted(field, delimiter)).join(delimiter)).join("\n");
}

function ofLines(text, name) {
  const rows = text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
  return rows.filter((row) => row[COLUMN] === name).map(({ [COLUMN]: _, ...row }) => JSON.stringify(row)).join("\n");
}

/** The text of one data set, or null if it cannot be extracted. */
export function textOf(text, name) {
  if (text.length > LARGEST) return null;
  const own = text.replace(/^\uFEFF/, "");
  try {
    if (/^\s*\{/.test(own)) return ofLines(own, name);
    return ofTable(own, name, own.slice(0, own.indexOf("\n")).includes("\t") ? "\t" : ",");
  } catch {
    return null;
  }
}
