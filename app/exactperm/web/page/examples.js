// Examples: small artificial data, with the fields to set.
const bits = (text) => [...text].map(Number);
const lines = (header, rows) => `${[header, ...rows.map((row) => row.join(","))].join("\n")}\n`;

const RIGHT_U = bits("111110110111011011001001111101100111111011111011");
const RIGHT_V = bits("001111110000011011101100110101000111000010110011");
const PRECISION = [
  [0.5213, 0.4987], [0.3301, 0.3312], [0.7420, 0.6911], [0.1875, 0.1523], [0.6034, 0.5876], [0.4411, 0.4602],
  [0.2987, 0.2410], [0.8123, 0.7988], [0.3956, 0.3544], [0.5120, 0.5120], [0.6677, 0.6012], [0.2203, 0.2391],
  [0.4890, 0.4477], [0.7011, 0.6954], [0.3568, 0.3099], [0.1444, 0.1671], [0.5832, 0.5310], [0.4019, 0.3866],
  [0.6258, 0.6300], [0.2745, 0.2288], [0.5566, 0.5013], [0.3871, 0.3640], [0.4702, 0.4415], [0.6349, 0.6127],
];
const ENTITIES = [
  [8, 2, 7, 4], [3, 1, 3, 2], [5, 3, 5, 3], [7, 0, 6, 2], [2, 2, 1, 4], [9, 1, 9, 1], [4, 3, 4, 2], [6, 1, 5, 3],
  [1, 0, 1, 1], [5, 2, 4, 4], [8, 3, 8, 2], [3, 2, 2, 4], [7, 1, 7, 2], [4, 0, 4, 0], [6, 4, 5, 5], [2, 1, 2, 3],
];
const DOCUMENTS = ["news", "mail", "blog", "talk", "wiki", "chat"];

// Answers of artificial systems: each is right if its skill exceeds the difficulty of the item, with some randomness.
const SKILLS = { "atlas-70b": 0.86, "birch-32b": 0.84, "cedar-8b": 0.71, "delta-8b": 0.7, "ember-3b": 0.52, "flint-1b": 0.38, "random": 0.15 };

function answers(items, seed) {
  let state = seed;
  const draw = () => (state = (state * 48271) % 2147483647) / 2147483647;
  return Array.from({ length: items }, () => {
    const needed = draw();
    return Object.values(SKILLS).map((skill) => Number(0.65 * needed + 0.35 * draw() < skill * 0.9));
  });
}

const long = (dataset, items, seed) => answers(items, seed).flatMap((right, item) =>
  Object.keys(SKILLS).map((name, place) => [`${dataset}-${item + 1}`, name, right[place], dataset]));

export const EXAMPLES = [
  {
    title: "Right or wrong",
    text: lines("id,u,v", RIGHT_U.map((right, index) => [`q${index + 1}`, right, RIGHT_V[index]])),
    fields: { name_u: "new model", name_v: "old model" },
  },
  {
    title: "Scores",
    text: lines("id,u,v", PRECISION.map(([u, v], index) => [`topic-${index + 301}`, u, v])),
    fields: { name_u: "reranked", name_v: "BM25" },
  },
  {
    title: "F1 from counts",
    text: lines("id,tp_u,incorrect_u,tp_v,incorrect_v", ENTITIES.map((row, index) => [`s${index + 1}`, ...row])),
    fields: { name_u: "tagger B", name_v: "tagger A", statistic: "f1" },
  },
  {
    title: "Grouped items",
    text: lines("id,u,v,cluster", RIGHT_U.map((right, index) =>
      [`q${index + 1}`, right, RIGHT_V[index], DOCUMENTS[Math.floor(index / 8)]])),
    fields: { name_u: "new model", name_v: "old model" },
  },
  {
    title: "Seven models",
    board: true,
    text: lines(`id,${Object.keys(SKILLS).join(",")}`, answers(120, 7).map((row, index) => [`q${index + 1}`, ...row])),
    fields: {},
  },
  {
    title: "Two data sets",
    board: true,
    text: lines("id,system,score,dataset", [...long("maths", 60, 11), ...long("law", 90, 12)]),
    fields: {},
  },
  {
    title: "Against a baseline",
    board: true,
    text: lines(`id,${Object.keys(SKILLS).join(",")}`, answers(120, 7).map((row, index) => [`q${index + 1}`, ...row])),
    fields: { compare: "baseline", baseline: "delta-8b" },
  },
];
