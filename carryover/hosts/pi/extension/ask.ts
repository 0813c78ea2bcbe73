// A summary by the session's own model: never longer than it may take, and never in the user's way.
import type { Ask } from "./child.ts"
import type { Complete, Completion, CompletionOptions, Context, Model } from "./host.ts"

export interface Answer {
  text: string
  stop: "stop" | "length" | "aborted" | "error" | "timeout"
  error: string | null
}

export const SKIPPED: Answer = { text: "", stop: "aborted", error: null }

/** Ask the model. Resolves in `ask.seconds` at the latest, whatever the provider does; never rejects. */
export async function answer(ask: Ask, ctx: Context, skip: AbortSignal): Promise<Answer> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), ask.seconds * 1000) // AbortSignal.timeout would let Node exit meanwhile
  const end = AbortSignal.any([skip, limit.signal])
  const ended = () => (skip.aborted ? SKIPPED : ({ text: "", stop: "timeout", error: null } as const))
  try {
    // A provider may ignore the signal, so the end of our patience is raced against it.
    const completion = await Promise.race([complete(ask, ctx, end), whenAborted(end)])
    return completion ? judge(completion) : ended()
  } catch (error) {
    return end.aborted ? ended() : failure(String((error as Error)?.message ?? error))
  } finally {
    clearTimeout(timer)
  }
}

export function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    signal.addEventListener("abort", () => resolve(undefined), { once: true })
  })
}

async function complete(ask: Ask, ctx: Context, signal: AbortSignal): Promise<Completion> {
  const model = ask.model ? named(ask.model, ctx) : ctx.model
  if (!model) throw new Error(ask.model ? `pi knows no model ${ask.model}` : "the session has no model")
  const content = [{ type: "text" as const, text: ask.prompt }]
  const context = { systemPrompt: ask.system, messages: [{ role: "user" as const, content, timestamp: Date.now() }] }
  const options: CompletionOptions = { signal, maxTokens: ask.maxTokens, cacheRetention: "none" }
  const registry = ctx.modelRegistry
  if (registry.complete) return registry.complete(model, context, options)
  return completeBefore086(model, context, options, ctx)
}

/** pi before 0.86: the provider library itself, with credentials from the registry. */
async function completeBefore086(
  ...[model, context, options, ctx]: [...Parameters<Complete>, Context]
): Promise<Completion> {
  const credentials = await ctx.modelRegistry.getApiKeyAndHeaders(model)
  if (!credentials.ok) throw new Error(credentials.error)
  const library: string = "@mariozechner/pi-ai" // pi resolves it to its own copy
  const { complete } = (await import(library)) as { complete: Complete }
  return complete(model, context, { ...options, apiKey: credentials.apiKey, headers: credentials.headers })
}

function named(name: string, ctx: Context): Model | undefined {
  const slash = name.indexOf("/")
  return ctx.modelRegistry.find(name.slice(0, slash), name.slice(slash + 1))
}

function judge(completion: Completion): Answer {
  const text = completion.content.map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("")
  const stop = completion.stopReason
  if (stop === "error") return failure(completion.errorMessage ?? "the model failed")
  if (stop === "aborted") return SKIPPED
  return { text, stop: stop === "length" ? "length" : "stop", error: null }
}

function failure(error: string): Answer {
  return { text: "", stop: "error", error }
}
