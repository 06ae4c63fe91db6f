/** What the scripts share: the time is the server's, so that all gateways agree on it. */
export const NOW = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`
