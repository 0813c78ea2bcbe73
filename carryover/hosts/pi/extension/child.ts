// The Python process that does the work, as something one can ask: JSON lines over its stdin and stdout.
//
// It is started detached, so that it outlives any end of pi, sees the end of its stdin and finishes the session by
// itself. It never keeps pi alive: its handles are held only while a reply is awaited. Nothing here rejects or throws;
// a request that cannot be answered resolves to `ok: false` with a sentence.
import { spawn, type ChildProcess, type StdioOptions } from "node:child_process"
import { existsSync, readFileSync, realpathSync } from "node:fs"
import { homedir } from "node:os"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Level } from "./host.ts"

export interface Notice {
  level: Level
  text: string
}

/** A summary the child would like to have: by pi's own model ("host"), or by the child itself ("child"). */
export interface Ask {
  id: string
  runner: "host" | "child"
  system: string
  prompt: string
  maxTokens: number
  seconds: number
  model: string | null
  line: string
}

/** What a request comes back with. The child is our own code, so the members are trusted to have these types. */
export interface Reply {
  ok: boolean
  error?: string
  text?: string
  level?: Level
  system?: string
  message?: string | null
  status?: string
  farewell?: string
  notices?: Notice[]
  ask?: Ask | null
  items?: { value: string; label: string; description?: string }[]
}

/** Why there is no child: no Python could be started, it was older than 3.11, or it ended by itself. */
export type Failure = "missing" | "old" | "broken"

interface Pending {
  line: string
  settle(reply: Reply): void
}

/** The exit status with which the launcher says that this Python is too old. */
const TOO_OLD = 78

// The folder above the package `carryover` that this file is part of: a clone, or a site-packages.
const ROOT = join(dirname(realpathSync(fileURLToPath(import.meta.url))), "..", "..", "..", "..")

// -I -S: neither the project's folder, nor PYTHONPATH, nor an environment's .pth files take part in the start; it is
// faster by half, and no `json.py` of the project is ever run. Our folder comes last, so it hides nothing of Python's own.
const LAUNCH =
  `import sys\nif sys.version_info < (3, 11): sys.exit(${TOO_OLD})\n` +
  `sys.path.append(sys.argv[1])\nfrom carryover.hosts.pi.bridge import main\nmain()`
const ARGUMENTS = ["-I", "-S", "-X", "utf8", "-c", LAUNCH, ROOT]

const KEY = Symbol.for("carryover.child")
const shared = globalThis as { [KEY]?: Child }

export class Child {
  /** Hears what the child says unasked. Belongs to the instance of the extension that is in charge now. */
  heard: (event: { event: string; level?: Level; text?: string }) => void = () => {}
  /** Hears once that there is no child, and why. */
  failed: (failure: Failure) => void = () => {}
  failure: Failure | undefined
  /** Whether it has said anything yet; before that Python may still be starting. */
  talking = false

  private readonly version: string
  private readonly candidates = pythons()
  private readonly pending = new Map<number, Pending>()
  private readonly late = new Map<number, (reply: Reply) => void>()
  private process: ChildProcess | undefined
  private requests = 0
  private closed = false
  private tooOld = false
  private started = false

  private constructor(version: string) {
    this.version = version
    this.launch()
  }

  /** The child of this pi: it survives /new, /resume, /fork and /reload, but not an upgrade of the package. */
  static obtain(): Child {
    const version = packageVersion()
    const child = shared[KEY]
    if (child && child.version === version && !child.failure && !child.closed) return child
    child?.close()
    return (shared[KEY] = new Child(version))
  }

  /** Ask for something. After `deadline` milliseconds the answer is no longer waited for; `late` gets it then. */
  request(verb: string, fields: object, deadline: number, late?: (reply: Reply) => void): Promise<Reply> {
    if (this.failure || this.closed)
      return Promise.resolve({ ok: false, error: "the carryover process is not running" })
    const id = ++this.requests
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.settle(id, { ok: false, error: `carryover did not answer within ${deadline / 1000} s` })
        if (late) this.late.set(id, late)
      }, deadline)
      const settle = (reply: Reply) => {
        clearTimeout(timer)
        resolve(reply)
      }
      const line = JSON.stringify({ id, do: verb, ...fields }) + "\n"
      this.pending.set(id, { line, settle })
      this.hold(true)
      this.send(line)
    })
  }

  /** Let it go: it sees the end of its stdin, finishes by itself and ends. */
  close(): void {
    this.closed = true
    if (shared[KEY] === this) delete shared[KEY]
    this.abandon("the carryover process was let go")
    this.process?.stdin?.end()
  }

  private launch(): void {
    const next = this.candidates.shift()
    if (!next) return this.fail(this.tooOld ? "old" : this.started ? "broken" : "missing")
    const [command, ...options] = next
    try {
      const stdio: StdioOptions = ["pipe", "pipe", "ignore"]
      this.adopt(spawn(command, [...options, ...ARGUMENTS], { stdio, detached: true, windowsHide: true }))
    } catch {
      this.launch() // spawn throws for some commands that do not exist, and reports others by an event
    }
  }

  private adopt(process: ChildProcess): void {
    this.process = process
    let gone = false
    const lost = (code: number | null) => {
      if (gone) return
      gone = true
      this.lost(code)
    }
    process.on("error", () => lost(null))
    process.on("exit", lost)
    // An error event nobody listens to would end pi.
    process.stdin?.on("error", () => {})
    process.stdout?.on("error", () => {})
    process.stdout?.setEncoding("utf8")
    let rest = ""
    process.stdout?.on("data", (data: string) => {
      const lines = (rest + data).split("\n")
      rest = lines.pop() ?? ""
      lines.forEach((line) => this.hear(line))
    })
    this.hold(this.pending.size > 0)
    for (const { line } of this.pending.values()) this.send(line)
  }

  private send(line: string): void {
    if (this.process?.stdin?.writable) this.process.stdin.write(line)
  }

  private hear(line: string): void {
    this.talking = true
    let message: Reply & { id?: number; event?: string }
    try {
      message = JSON.parse(line)
    } catch {
      return // cannot happen: the child keeps its stdout for these lines
    }
    if (message.event) this.heard({ ...message, event: message.event })
    else if (typeof message.id === "number") this.settle(message.id, message)
  }

  private settle(id: number, reply: Reply): void {
    this.pending.get(id)?.settle(reply)
    this.late.get(id)?.(reply)
    this.pending.delete(id)
    this.late.delete(id)
    if (this.pending.size === 0) this.hold(false)
  }

  /** A candidate that never said a word is not ours: the next one gets its requests. */
  private lost(code: number | null): void {
    if (this.closed) return
    this.started ||= code !== null
    this.tooOld ||= code === TOO_OLD
    if (this.talking) this.fail("broken")
    else this.launch()
  }

  private fail(failure: Failure): void {
    this.failure = failure
    this.abandon("the carryover process is not running")
    // The constructor may still be at work, and whoever made us has not yet told us whom to tell.
    queueMicrotask(() => this.failed(failure))
  }

  private abandon(error: string): void {
    for (const { settle } of this.pending.values()) settle({ ok: false, error })
    this.pending.clear()
    this.late.clear()
    this.hold(false)
  }

  /** A child that is held keeps `pi -p` running; one that is not lets Node exit while a reply is awaited. */
  private hold(on: boolean): void {
    const { process } = this
    for (const handle of [process, process?.stdin, process?.stdout] as (
      { ref?(): void; unref?(): void } | undefined
    )[]) {
      if (on) handle?.ref?.()
      else handle?.unref?.()
    }
  }
}

function packageVersion(): string {
  try {
    return ROOT + readFileSync(join(ROOT, "carryover", "__init__.py"), "utf8")
  } catch {
    return ROOT
  }
}

/** Commands that may start a Python, the best guess first. */
function pythons(): [string, ...string[]][] {
  const known = [process.env.CARRYOVER_PYTHON, installedPython(), surroundingPython()].filter(
    (path) => path !== undefined,
  )
  const onPath: [string, ...string[]][] = [["python3"], ["python"]]
  if (process.platform === "win32") onPath.push(["py", "-3"])
  return [...known.filter((path) => path !== "").map((path): [string] => [path]), ...onPath]
}

/** The Python that ran `carryover install pi`. */
function installedPython(): string | undefined {
  try {
    const { python } = JSON.parse(readFileSync(join(stateFolder(), "pi.json"), "utf8"))
    return typeof python === "string" && existsSync(python) ? python : undefined
  } catch {
    return undefined // no such file, or not ours: there are other ways to find a Python
  }
}

/** Our state folder, as `state_dir` in settings.py has it. */
function stateFolder(): string {
  if (process.platform === "win32") return join(process.env.LOCALAPPDATA ?? join(homedir(), "AppData", "Local"), "carryover", "state")
  if (process.platform === "darwin") return join(homedir(), "Library", "Application Support", "carryover")
  return join(process.env.XDG_STATE_HOME || join(homedir(), ".local", "state"), "carryover")
}

/** The Python of the environment that this package is installed in. */
function surroundingPython(): string | undefined {
  if (basename(ROOT) !== "site-packages") return undefined
  const paths =
    process.platform === "win32"
      ? [join(ROOT, "..", "..", "Scripts", "python.exe"), join(ROOT, "..", "..", "python.exe")]
      : [join(ROOT, "..", "..", "..", "bin", "python"), join(ROOT, "..", "..", "..", "bin", "python3")]
  return paths.find((path) => existsSync(path))
}
