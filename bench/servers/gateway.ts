/** The subject: the gateway as shipped, with the benchmark's backend. */
import { serve } from "./usage.ts"

await import("../../src/main.ts")
const port = Number(process.env["PORT"])
const ready = async (): Promise<boolean> => {
  try {
    return (await fetch(`http://127.0.0.1:${port}/ready`)).status === 200
  } catch {
    return false
  }
}
while (!(await ready())) await new Promise((resolve) => setTimeout(resolve, 50))
serve(port)
