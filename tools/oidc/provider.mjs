// A real OpenID provider on loopback: node provider.mjs PORT REDIRECT_URI GROUPS. It accepts any name at sign-in;
// GROUPS is a JSON file of {name: [group]}, read for each request. Prints "ready" once it listens.
import { readFileSync } from "node:fs";
import { Provider } from "oidc-provider";

const [port, redirect, groups] = process.argv.slice(2);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "culprit",
      client_secret: "s3cret:with colon+plus",
      redirect_uris: [redirect],
      response_types: ["code"],
      grant_types: ["authorization_code"],
      post_logout_redirect_uris: [new URL("/login", redirect).href],
    },
  ],
  pkce: { required: () => true },
  claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
  scopes: ["openid", "profile", "groups"],
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: id, groups: JSON.parse(readFileSync(groups, "utf8"))[id] ?? [] }),
  }),
  cookies: { keys: ["only for tests"] },
  ttl: { AccessToken: 300, AuthorizationCode: 60, IdToken: 300, Interaction: 300, Session: 300, Grant: 300 },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
