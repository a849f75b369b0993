// A client of a page's own, in a few lines, over the generated types. It is
// compiled by a test; the lines marked as errors must be refused.
import type { Controls, Event, Interaction, Operations, Problem, Settings, Turn } from "./index";

type Call<ID extends keyof Operations> = {
  params: Operations[ID]["params"];
  body: Operations[ID]["body"];
  key?: string;
};

/** Thrown for every answer that is not a success. */
export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(`${problem.code}: ${problem.detail ?? problem.title}`);
  }
}

export async function call<ID extends keyof Operations>(
  base: string,
  method: Operations[ID]["method"],
  path: Operations[ID]["path"],
  { params, body, key }: Call<ID>,
): Promise<Operations[ID]["result"]> {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent((params as Record<string, string>)[name] ?? ""));
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key !== undefined) headers["Idempotency-Key"] = key;
  const init: RequestInit = { method, headers };
  if (body !== undefined) init.body = JSON.stringify(body);
  const answer = await fetch(base + filled, init);
  if (!answer.ok) throw new ApiError((await answer.json()) as Problem);
  return (await answer.json()) as Operations[ID]["result"];
}

export async function planThenAsk(base: string, conversation: string): Promise<Turn> {
  const controls: Controls = await call<"getControls">(base, "GET", "/v1/conversations/{conversation}/controls", {
    params: { conversation },
    body: undefined,
  });
  await call<"changeSettings">(base, "PATCH", "/v1/conversations/{conversation}/settings", {
    params: { conversation },
    body: { revision: controls.revision, patch: { mode: "plan", permission: "", options: { verbosity: "low" } } },
  });
  return call<"sendMessage">(base, "POST", "/v1/conversations/{conversation}/turns", {
    params: { conversation },
    body: { content: [{ type: "text", text: "Add a test" }] },
    key: crypto.randomUUID(),
  });
}

/** The type of an event says what its body is. */
export function line(ev: Event): string {
  switch (ev.type) {
    case "delta":
      return ev.body.text;
    case "item":
      return `${ev.body.type} ${ev.body.status}: ${ev.body.title ?? ev.body.text ?? ""}`;
    case "turn": {
      const settings: Settings = ev.body.settings;
      return `turn ${ev.body.id} is ${ev.body.state} in ${settings.mode ?? "the default mode"}`;
    }
    case "interaction": {
      const card: Interaction = ev.body;
      return card.ask.fields?.map((f) => `${f.text} ${f.options?.map((o) => o.label).join(", ") ?? ""}`).join("\n") ?? card.ask.text ?? "";
    }
    case "queue":
      return ev.body.held === true ? `held: ${ev.body.reason}` : "released";
    case "catalog":
      // @ts-expect-error a catalog is never stored, so the event has no body
      return ev.body;
    default:
      return ev.type;
  }
}

export function refused(base: string): void {
  const at = { params: { conversation: "c" } };
  // @ts-expect-error the method of another operation
  void call<"stop">(base, "GET", "/v1/conversations/{conversation}/stop", { ...at, body: undefined });
  // @ts-expect-error a parameter is missing
  void call<"stop">(base, "POST", "/v1/conversations/{conversation}/stop", { params: {}, body: undefined });
  // @ts-expect-error a required member is missing
  void call<"changeSettings">(base, "PATCH", "/v1/conversations/{conversation}/settings", { ...at, body: { patch: {} } });
  // @ts-expect-error no such permission
  void call<"changeSettings">(base, "PATCH", "/v1/conversations/{conversation}/settings", { ...at, body: { revision: 1, patch: { permission: "root" } } });
  // @ts-expect-error null is refused by the server
  void call<"changeSettings">(base, "PATCH", "/v1/conversations/{conversation}/settings", { ...at, body: { revision: 1, patch: { mode: null } } });
  // @ts-expect-error no such type of content
  void call<"sendMessage">(base, "POST", "/v1/conversations/{conversation}/turns", { ...at, body: { content: [{ type: "video" }] } });
  // @ts-expect-error no such state
  const state: Turn["state"] = "held";
  void state;
}
