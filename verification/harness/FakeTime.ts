/** The clock of a program as libfaketime has it: so many seconds off, and set anew while it runs. */
import { spawnSync } from "node:child_process"
import { renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { isInstalled } from "./Programs.ts"

export const isFakeTimeInstalled = isInstalled("faketime")

export interface FakeTime {
  /** What the program needs in its environment. */
  readonly env: Readonly<Record<string, string>>
  /** Sets the clock, by seconds from the true time; the program sees it whenever it asks for the time. */
  readonly set: (by_s: number) => void
}

/** Attempts to run the program that prints the library: its semaphore has its process id, and one that was killed leaves it behind. */
const ATTEMPTS = 3
const libraryOf = (attempts = ATTEMPTS): string => {
  const { status, stderr, stdout } = spawnSync("faketime", ["-m", "-f", "+0", "printenv", "LD_PRELOAD"], {
    encoding: "utf8"
  })
  if (status === 0) return stdout.trim()
  if (attempts > 1) return libraryOf(attempts - 1)
  throw new Error(`faketime ended with ${status}: ${stderr}`)
}

/** A clock of its own for one program; `name` is that of its file in the folder. */
export const fakeTime = (folder: string, name: string, by_s = 0): FakeTime => {
  const offset = join(folder, `${name}.offset`)
  const set = (by_s: number) => {
    writeFileSync(`${offset}.next`, by_s < 0 ? `${by_s}\n` : `+${by_s}\n`)
    renameSync(`${offset}.next`, offset)
  }
  set(by_s)
  return {
    env: {
      // the memory of the C library: another one, such as that of redis-server, asks for the time before there is a clock
      LD_PRELOAD: `${libraryOf()} libc.so.6`,
      FAKETIME_TIMESTAMP_FILE: offset,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1"
    },
    set
  }
}

/** The time that a gateway goes by, to the second, Unix ms. */
export const shownBy = async ({ url }: { readonly url: string }): Promise<number> =>
  Date.parse((await fetch(`${url}/health`)).headers.get("date") ?? "")
