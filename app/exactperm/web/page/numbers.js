// Format numbers as presentation/numbers.py does. A p-value is never shown as 0, or as 1 if it is less.
const SMALLEST = 1e-300;
const LEVELS = [0.05, 0.01, 1]; // rounding must not move a p-value to or across one of them
const RAISED = Object.fromEntries([..."-0123456789"].map((sign, index) => [sign, [..."⁻⁰¹²³⁴⁵⁶⁷⁸⁹"][index]]));

export const count = (value) => value.toLocaleString("en");

/** Significant digits, with a real minus sign and powers of ten. */
export function number(value, digits = 6) {
  if (value === null || value === undefined) return "–";
  const rounded = Number(value.toPrecision(digits));
  const text = rounded !== 0 && Math.abs(rounded) < 1e-4 ? rounded.toExponential() : String(rounded);
  const [mantissa, exponent] = text.split("e");
  if (exponent === undefined) return mantissa.replace("-", "−");
  return `${mantissa.replace("-", "−")} × ${power(Number(exponent))}`;
}

export function power(exponent, base = 10) {
  return `${base}${[...String(exponent)].map((sign) => RAISED[sign]).join("")}`;
}

export const signed = (value, digits) => (value > 0 ? `+${number(value, digits)}` : number(value, digits));

/** The number of digits that keeps a p-value on the same side of the usual levels. */
function enoughFor(p, digits) {
  let enough = digits;
  const stands = (level) => Math.sign(Number(p.toPrecision(enough)) - level) === Math.sign(p - level);
  while (enough < 17 && !LEVELS.every(stands)) enough += 1;
  return enough;
}

/** A p-value within the range of doubles, or a bound. */
export const pNumber = (p, digits = 6) => number(p, enoughFor(p, digits));

/** A p-value, by its logarithm beyond the range of doubles. */
export function probability(p, log10, digits = 6) {
  if (p >= SMALLEST) return number(p, enoughFor(p, digits));
  let exponent = Math.floor(log10);
  let mantissa = Number((10 ** (log10 - exponent)).toPrecision(Math.min(digits, 4)));
  if (mantissa >= 10) [mantissa, exponent] = [1, exponent + 1];
  return `${mantissa} × ${power(exponent)}`;
}

/** As few digits as keep p on the same side of alpha. */
export function shortProbability(p, log10, alpha) {
  for (let digits = 3; digits < 17; digits += 1) {
    const rounded = Number(p.toPrecision(digits));
    const between = rounded === p || (rounded !== alpha && rounded !== 1);
    if (between && rounded <= alpha === p <= alpha) return probability(p, log10, digits);
  }
  return probability(p, log10, 17);
}

/** A frequency in words. */
export function often(p, log10) {
  if (p >= 1) return "always";
  if (p >= 0.9995) return "nearly always";
  if (p >= 0.001) return `in ${number(100 * p, enoughFor(p, 3))} % of cases`;
  if (p >= 1e-12) return `about once in ${count(Number((1 / p).toPrecision(3)))} cases`;
  return `less than once in ${power(Math.max(12, Math.floor(-log10)))} cases`;
}

export function bytes(size) {
  if (size < 1000) return `${size} B`;
  return size < 1e6 ? `${number(size / 1e3, 3)} kB` : `${number(size / 1e6, 3)} MB`;
}

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** A time in one unit, rounded down: `7 days`, `36 hours`. */
export function duration(seconds) {
  const [unit, size] = UNITS.find(([, least]) => seconds >= 2 * least || seconds === least) ?? UNITS.at(-1);
  const amount = Math.floor(seconds / size);
  return `${count(amount)} ${unit}${amount === 1 ? "" : "s"}`;
}

export const percent = (level) => `${number(100 * level, 6)} %`;

/** The typed number; other text, and numbers below the range of doubles, are sent unchanged, for the service to refuse. */
export function valueOf(text) {
  const value = Number(text);
  const lost = value === 0 && /[1-9]/.test(text.split(/e/i)[0]);
  return text !== "" && Number.isFinite(value) && !lost ? value : text;
}
