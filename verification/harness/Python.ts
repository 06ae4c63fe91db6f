/** The system's Python with the client of clients/python. */
import { execFileSync } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

export const PYTHON = "/usr/bin/python3"
/** The folder of the client. */
export const pythonClient = join(root, "clients/python")
/** Variables with which Python finds the client; warnings of unclosed resources are errors. */
export const pythonEnv = {
  ...process.env,
  PYTHONPATH: [join(pythonClient, "src"), join(pythonClient, "tests")].join(":"),
  PYTHONDONTWRITEBYTECODE: "1",
  PYTHONWARNINGS: "error::ResourceWarning"
}

/** Whether Python and the client's dependencies are installed. */
export const hasPython = ((): boolean => {
  try {
    execFileSync(PYTHON, ["-c", "import cryptography, websockets"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()
