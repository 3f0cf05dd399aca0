#!/usr/bin/env node
// worker.mjs - a worker in Node, without packages.
//
//     PEAL_URL=http://127.0.0.1:7325 PEAL_KEY=pk_… ./worker.mjs worker:rates
//
// It claims work and waits for it, does it in work(), sends heartbeats meanwhile, and reports what
// became of it. On SIGTERM it finishes what it has and ends. Put your own work into work().

const { PEAL_URL, PEAL_KEY, LEASE = "60" } = process.env;
const handler = process.argv[2];
const abort = new AbortController();
const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
let isStopping = false;

class Permanent extends Error {} // trying again cannot help

async function work(item, progress) {
  await progress(`working on ${JSON.stringify(item.payload)}`);
  if (item.payload.fail) throw new Error(item.payload.fail);
  if (item.payload.refuse) throw new Permanent(item.payload.refuse);
  await sleep(item.payload.seconds ?? 0);
  return "done in Node";
}

function post(path, body, signal) {
  return fetch(`${PEAL_URL}/v1/work/${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${PEAL_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}

// report tells until it is heard: the same report twice is answered as repeated.
async function report(item, what, members) {
  for (;;) {
    const answer = await post(`${item.id}/${what}`, { fence: item.fence, ...members }).catch(() => null);
    if (answer?.ok) return true;
    if (answer && answer.status < 500 && answer.status !== 429) {
      console.error(`${item.id}: ${what} was refused (${answer.status})`);
      return false; // 409: the lease ended, and it is somebody else's
    }
    await sleep(1); // Peal is away; the lease decides how long that may be
  }
}

async function run(item) {
  const heart = setInterval(() => report(item, "heartbeat", { lease: `${LEASE}s` }), (LEASE / 3) * 1000);
  try {
    const message = await work(item, (said) => report(item, "progress", { message: said }));
    clearInterval(heart);
    await report(item, "done", { message });
  } catch (error) {
    clearInterval(heart);
    await report(item, "fail", { error: error.message, permanent: error instanceof Permanent });
  }
}

process.on("SIGTERM", () => {
  isStopping = true;
  abort.abort(); // who waits for work hangs up: nothing is claimed for it then
});

while (!isStopping) {
  const body = { handler, max: 1, wait: "20s", lease: `${LEASE}s`, worker: `node-${process.pid}` };
  const answer = await post("claim", body, abort.signal).catch(() => null);
  if (!answer?.ok) {
    if (!isStopping) await sleep(1); // away, stopping, or the handler is not there yet
    continue;
  }
  const { items } = await answer.json().catch(() => ({ items: [] })); // what was cut off comes back with its lease
  for (const item of items) await run(item);
}
