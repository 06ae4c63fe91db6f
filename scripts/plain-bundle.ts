/** Prints how large the plain client is, minified and compressed: `node scripts/plain-bundle.ts`. */
import { bundlePlain, BYTES_MAX, compressed } from "../verification/harness/SdkBundle.ts"

const { code } = await bundlePlain()
console.log(
  `plain client: ${compressed(code)} bytes minified and compressed (gzip -9), of at most ${BYTES_MAX}; ${code.length} minified`
)
