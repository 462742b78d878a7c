// Uses the routing service's npm client as an integrator does, and prints what the client returned as one JSON object.
// It must never print the integrator ID: errors of the client hold the request's headers.
//
// node sdk.mjs FOLDER URL LIMITED_URL, with INTEGRATOR_ID in the environment. FOLDER has the client in node_modules;
// LIMITED_URL is a service that allows one request.
import { createRequire } from "node:module";

const [folder, url, limitedUrl] = process.argv.slice(2);
const integratorId = process.env.INTEGRATOR_ID;
const { Squid } = createRequire(`${folder}/`)("@0xsquid/sdk");

const wallet = "0x1111111111111111111111111111111111111111";
const known = {
  transactionId: `0x${"1".padStart(64, "0")}`,
  fromChainId: "42161",
  toChainId: "8453",
  quoteId: "q-1",
};

/** Returns a result of the client, with whether the ID is the sent one in place of the ID. */
function describe({ integratorId: returned, ...result }) {
  return { ...result, hasSentId: returned === integratorId };
}

/** Returns the error of a call that must fail: what the client lets its user see of the response. */
async function errorOf(call) {
  try {
    await call();
  } catch ({ message, response }) {
    return response === undefined
      ? { message }
      : {
          status: response.status,
          ...response.data,
          requestId: response.headers["x-request-id"],
          hasSentId: response.headers["x-integrator-id"] === integratorId,
          hasNoId: !("x-integrator-id" in response.headers),
          retryAfterHeader: response.headers["retry-after"],
        };
  }
  throw new Error("a call that must fail succeeded");
}

async function main() {
  const client = new Squid({ integratorId, baseUrl: url });
  await client.init();
  const [from, to] = [known.fromChainId, known.toChainId].map((id) => client.getChainData(id));
  const token = (chain, symbol) =>
    client.tokens.find((found) => found.chainId === chain.chainId && found.symbol === symbol);
  const route = {
    fromAddress: wallet,
    fromChain: from.chainId,
    fromToken: token(from, "USDC").address,
    fromAmount: "1000000",
    toChain: to.chainId,
    toToken: token(to, to.nativeCurrency.symbol).address,
    toAddress: wallet,
  };
  const results = {
    chains: [from, to].map((chain) => [chain.chainId, chain.networkName, chain.chainType]),
    native: client.getTokenData(route.toToken.toUpperCase(), to.chainId),
    isInMaintenanceMode: client.isInMaintenanceMode,
    price: describe(await client.getRoute({ ...route, quoteOnly: true })),
    withData: describe(await client.getRoute(route)),
    walletLimit: await errorOf(() => client.getRoute(route)),
    status: describe(await client.getStatus(known)),
    unknown: await errorOf(() => client.getStatus({ ...known, transactionId: "0xabcdef" })),
    withoutId: await errorOf(async () => new Squid({ baseUrl: url })),
  };

  const revoked = new Squid({ integratorId: `revoked-${integratorId}`, baseUrl: url });
  results.revoked = await errorOf(() => revoked.init());
  // The client refuses to start without an ID, so the header is removed afterwards.
  delete client.httpInstance.axios.defaults.headers["x-integrator-id"];
  results.headerRemoved = await errorOf(() => client.getStatus(known));

  const limited = new Squid({ integratorId, baseUrl: limitedUrl });
  await limited.init();
  results.throttled = await errorOf(() => limited.getStatus(known));
  console.log(JSON.stringify(results));
}

main().catch(({ message, stack }) => {
  console.error(message, stack);
  process.exitCode = 1;
});
