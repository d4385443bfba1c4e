// Reading lists of a library: /lists/N is put together from records and kept in the process, /hours/N needs nothing.
//
//     node [options] reading_lists.js ADDRESS PORT KEPT RECORDS
//
// KEPT is how many lists are kept, the oldest are given up first. RECORDS is how many records a list has. As many lists as are kept are put
// together before the server listens, so that the first readers after a release do not wait.
"use strict";
const crypto = require("crypto");
const http = require("http");

const [address, port, kept, records] = process.argv.slice(2);
const lists = new Map();

function buildList(n) {
  const list = [];
  for (let i = 0; i < Number(records); i++) {
    const title = `${(n * 31 + i * 7919) % 99991} on ${(n + i) % 613} and ${i}`;
    list.push({ id: n * 100 + i, title, shelf: [i % 40, n % 90], lent: (n + i) % 3 === 0, due: { day: i % 28, month: n % 12 } });
  }
  return list;
}

function findList(n) {
  let list = lists.get(n);
  if (!list) {
    list = buildList(n);
    lists.set(n, list);
    if (lists.size > Number(kept)) lists.delete(lists.keys().next().value);
  }
  return list;
}

const routes = {
  lists: (n) => JSON.stringify(findList(n).slice(0, 40)),
  hours: (n) => crypto.pbkdf2Sync(`hours ${n}`, "library", 900, 32, "sha256").toString("hex"),
};

for (let n = 0; n < Number(kept); n++) findList(5000000 + n);

http
  .createServer((request, response) => {
    const [, name, n] = request.url.split("/");
    const route = routes[name];
    const body = route ? route(Number(n)) : "";
    response.writeHead(route ? 200 : 404, { "Content-Length": Buffer.byteLength(body) });
    response.end(body);
  })
  .listen({ host: address, port: Number(port), backlog: 1024 });
