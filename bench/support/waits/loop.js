// An event loop with a listener and a timer that has work.
require("http").createServer((request, response) => response.end("ok")).listen(Number(process.argv[2]), "127.0.0.1");
setInterval(() => {
  const end = Date.now() + 2;
  while (Date.now() < end);
}, 20);
