// The curl command that sends the same request. Everything is quoted for a POSIX shell, and for curl's own syntax.
const SAFE = /^[\w@%+=:,./-]+$/;
const LONGEST = 20_000; // a command line has an end

const quoted = (text) => (SAFE.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** A file's name as curl's -F reads it: in double quotes when it has what curl would read otherwise. */
const named = (name) => (/^[\w.+-]+$/.test(name) ? name : `"${name.replace(/["\\]/g, "\\$&")}"`);

function part({ role, file, text }) {
  if (text !== null && text.length <= LONGEST) return `--form-string ${quoted(`${role}=${text}`)}`;
  return `-F ${quoted(`${role}=@${named(file.name)}`)}`;
}

/** `curl …` for a request. Pasted text stands in it, unless it is long: then it must be saved first. */
export function curl(question, base) {
  const key = question.keyed ? '-H "authorization: Bearer $EXACTPERM_API_KEY" ' : "";
  if (question.json) {
    const address = quoted(new URL(question.path, base).href);
    return `curl -sS ${key}-H 'content-type: application/json' ${address} \\\n  -d ${quoted(JSON.stringify(question.json))}\n`;
  }
  const long = question.files.filter(({ text }) => text !== null && text.length > LONGEST);
  const words = [
    ...question.files.map(part),
    ...question.fields.map(([name, value]) => `--form-string ${quoted(`${name}=${value}`)}`),
  ];
  const lead = long.map(({ file }) => `# save the pasted text as ${file.name} first\n`).join("");
  const command = question.mode === "gate" ? "curl --fail-with-body -sS" : "curl -sS";
  return `${lead}${command} ${key}${quoted(new URL(question.path, base).href)} \\\n  ${words.join(" \\\n  ")}\n`;
}
