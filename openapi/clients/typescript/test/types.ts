// Never run: code that tsc must accept or refuse. `npm run check` fails if an expected error is missing.
import { Client, ExactpermError, type GateForm } from "../exactperm.js";
import type { ScoresRequest, TestAnswer } from "../schema.js";

export async function accepted(client: Client, file: Blob): Promise<void> {
  const request: ScoresRequest = { u: [1, 0, 1], v: [0, 0, 1], statistic: { name: "sign" }, alternative: "greater" };
  const answer: TestAnswer = await client.scores(request, { signal: new AbortController().signal, timeoutMs: 100 });
  const p: number = answer.p_value;
  await client.effects({ stay: [3, -1, 0.5] });
  await client.counts({ statistic: { name: "f1" }, u: { tp: [1], incorrect: [0] }, v: { tp: [0], incorrect: [1] } });
  await client.predictions({ statistic: { name: "accuracy" }, gold: ["a"], u: ["a"], v: ["b"] });
  const form: GateForm = { u: file, v: file, policy: "no_regression", margin: 0.01 };
  const verdict: "pass" | "fail" | "inconclusive" | "continue" = (await client.gate(form)).verdict;
  await client.compare({ kind: "scores", systems: { A: [1, 0], B: [0, 1] } });
  await client.compare({ system: [file, file], format: "csv" });
  await client.files({ file, statistic: "accuracy", alpha: 0.01 });
  const [first] = await client.batch([{ kind: "scores", request: { u: [1], v: [0] } }]);
  const status: number | undefined = first?.status;
  const link: string = await client.keep("scores", { u: [1], v: [0] }, "html", { timeoutMs: 100 });
  const page: Blob = await client.stored(link);
  const job = await client.jobs.submit({ kind: "effects", request: { stay: [1] } }, { key: "mine" });
  const ended: "queued" | "running" | "succeeded" | "failed" | "cancelled" = (await client.jobs.wait(job.id)).state;
  const sentence: string = new ExactpermError({ detail: "" }).errors[0]?.detail ?? "";
  void [p, verdict, status, page, ended, sentence];
}

export async function refused(client: Client, file: Blob): Promise<void> {
  // @ts-expect-error: there is no such alternative
  await client.scores({ u: [1], v: [0], alternative: "upper" });
  // @ts-expect-error: v is missing
  await client.scores({ u: [1] });
  // @ts-expect-error: a path is not a file
  await client.files({ u: "u.csv", v: file });
  // @ts-expect-error: a misspelt option
  await client.effects({ stay: [1], alhpa: 0.05 });
  // @ts-expect-error: a gate's answer has no such member
  (await client.gate({ u: file, v: file })).significant;
  // @ts-expect-error: no such policy
  await client.gate({ u: file, v: file, policy: "at_most" });
}
