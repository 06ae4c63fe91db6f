import { assert, it } from "vitest"
import { cpuOfThisThread } from "../../verification/harness/Cpu.ts"

it("the CPU time of a thread is exact below a tick of the kernel", () => {
  const began = cpuOfThisThread()
  const seen = new Set<number>()
  while (seen.size < 1_000) seen.add(cpuOfThisThread())
  // ticks of 4 ms would make it 4 s
  assert.isBelow(cpuOfThisThread() - began, 1_000)
})
