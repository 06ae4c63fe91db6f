# One image for both programs: the gateway, and with `src/backend/main.ts` as its command the backend.
# test/deploy/Image.test.ts runs these steps in an empty folder, with linked packages, and starts the result.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY page ./page
COPY src ./src
RUN node page/build.ts
# development dependencies were needed for the page only
RUN npm prune --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund
# files for compilers and debuggers are half of the size
RUN find node_modules -type f \( -name "*.map" -o -name "*.d.ts" -o -name "*.d.mts" -o -name "*.d.cts" \) -delete
# owned by the user of the programs, so that a new volume has the right owner
RUN mkdir data

FROM node:24-slim
# a published port reaches the container's own address, not its loopback interface
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=dependencies --chown=1000:1000 /app/data ./data
COPY package.json ./
COPY src ./src
COPY --from=dependencies /app/page/dist ./page/dist
USER 1000:1000
VOLUME /app/data
EXPOSE 3010 3011
# liveness only; /ready is the readiness probe
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT ?? 3010}/health`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node"]
CMD ["src/main.ts"]
