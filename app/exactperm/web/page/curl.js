// The curl command that sends the same request, quoted for a POSIX shell and for curl.
const SAFE = /^[\w@%+=:,./-]+$/;
const LONGEST = 20_000; // command lines have a limited length

const quoted = (text) => (SAFE.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** A file's name for curl -F: in double quotes if it has characters that curl interprets. */
const named = (name) => (/^[\w.+-]+$/.test(name) ? name : `"${name.replace(/["\\]/g, "\\$&")}"`);

function part({ role, file, text }) {
  if (text !== null && text.length <= LONGEST) return `--form-string ${quoted(`${role}=${text}`)}`;
  return `-F ${quoted(`${role}=@${named(file.name)}`)}`;
}

/** The curl command of a request. It includes pasted text, unless this is long and must be saved first. */
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
