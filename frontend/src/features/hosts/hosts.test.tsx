import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { HOSTS } from "../../../mock/dataset";
import { createPreflight } from "../../../mock/hosts/preflight";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import type { Host, Role } from "../../client/models";
import { openScreen } from "../../testing/screen";

const HOST = HOSTS[1] as Host;
const refuse = (status: number, detail: string) => ({ status, body: { title: "", status, detail, key: "" } });

afterEach(() => {
  state.role = "admin" as Role;
  state.hosts = [...HOSTS];
  state.empty = false;
});

describe("the list of hosts", () => {
  it("shows all active hosts with their properties", async () => {
    state.hosts = HOSTS.slice(0, 40);
    openScreen("/hosts");
    const row = (await screen.findByRole("link", { name: HOST.name })).closest("tr") as HTMLElement;
    expect(within(row).getByText("256")).toBeVisible();
    expect(screen.getByText("40 hosts")).toBeVisible();
  });

  it("shows the server's error instead of the list, and recovers", async () => {
    const user = userEvent.setup();
    overrideAnswer(({ path }) =>
      path === "/hosts" ? refuse(503, "The database does not answer.") : undefined,
    );
    openScreen("/hosts");
    expect(await screen.findByRole("alert")).toHaveTextContent("The database does not answer.");
    state.hosts = HOSTS.slice(0, 3);
    overrideAnswer(undefined);
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByRole("link", { name: HOST.name })).toBeVisible();
  });

  it("offers to clear filters that match nothing", async () => {
    const user = userEvent.setup();
    state.hosts = HOSTS.slice(0, 5);
    const router = openScreen("/hosts?q=nothing-like-this");
    expect(await screen.findByText("No matching hosts")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Clear filters" }));
    expect(await screen.findByRole("link", { name: HOST.name })).toBeVisible();
    await waitFor(() => expect(router.state.location.search).not.toHaveProperty("q"));
  });

  it("opens a new capture of the selected hosts", async () => {
    const user = userEvent.setup();
    state.hosts = HOSTS.slice(0, 4);
    const router = openScreen("/hosts");
    await user.click(await screen.findByRole("checkbox", { name: `Select ${HOST.name}` }));
    await user.click(screen.getByRole("button", { name: "Capture on 1 host" }));
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ dialog: "capture", on: HOST.id }),
    );
  });

  it("hides actions without permission", async () => {
    state.role = "viewer";
    state.hosts = HOSTS.slice(0, 3);
    openScreen("/hosts");
    await screen.findByRole("link", { name: HOST.name });
    expect(screen.queryByRole("link", { name: "Add host" })).toBeNull();
    expect(screen.queryByRole("button", { name: /Select hosts/ })).toBeNull();
  });
});

describe("adding a host", () => {
  const fillIn = async (address: string) => {
    const user = userEvent.setup();
    state.hosts = HOSTS.slice(0, 3);
    openScreen("/hosts/new");
    await user.type(await screen.findByRole("textbox", { name: "Name" }), "feed-9");
    await user.type(screen.getByRole("textbox", { name: "Address" }), address);
    await user.type(screen.getByRole("textbox", { name: "User" }), "culprit");
    await user.click(screen.getByRole("button", { name: "Fetch host key" }));
    return user;
  };

  it("trusts only the displayed and confirmed fingerprint", async () => {
    const user = await fillIn("10.40.0.9");
    const fingerprint = await screen.findByText(/^SHA256:/);
    expect(sentRequests.some((request) => request.method === "POST" && request.path === "/hosts")).toBe(
      false,
    );
    await user.click(screen.getByRole("button", { name: /Trust key and add host/ }));
    await waitFor(() =>
      expect(sentRequests.some((request) => request.method === "POST" && request.path === "/hosts")).toBe(
        true,
      ),
    );
    const body = sentRequests.find((request) => request.method === "POST" && request.path === "/hosts")?.body;
    expect(body).toMatchObject({
      name: "feed-9",
      port: 22,
      host_key_fingerprint: fingerprint.textContent,
      credential: { kind: "generated_key" },
    });
  });

  it("shows an error if the host does not respond, and adds nothing", async () => {
    await fillIn("unreachable.example");
    expect(await screen.findByRole("alert")).toBeVisible();
    expect(screen.queryByRole("button", { name: /Trust key and add host/ })).toBeNull();
  });

  it("requires the key again when the address changes after the fingerprint was displayed", async () => {
    const user = await fillIn("10.40.0.9");
    await screen.findByText(/^SHA256:/);
    await user.type(screen.getByRole("textbox", { name: "Address" }), "9");
    expect(screen.queryByText(/^SHA256:/)).toBeNull();
    expect(screen.getByRole("button", { name: "Fetch host key" })).toBeEnabled();
  });

  it("is only for admins", async () => {
    state.role = "investigator";
    openScreen("/hosts/new");
    expect(await screen.findByText("Only admins can add hosts")).toBeVisible();
  });
});

describe("the bulk import of hosts", () => {
  it("previews the result for each host before it adds them", async () => {
    const user = userEvent.setup();
    state.hosts = HOSTS.slice(0, 3);
    openScreen("/hosts?bulk=1");
    const text = await screen.findByLabelText("Paste text or choose a file");
    await user.type(text, "feed-1\nfeed-2\nfeed-3\nfeed-4\nfeed-5\nfeed-6");
    await user.click(screen.getByRole("button", { name: /Preview import/ }));
    const table = await screen.findByRole("region", { name: "Result for each host" });
    expect(within(table).getByText("refused")).toBeVisible();
    expect(within(table).getByText("exists")).toBeVisible();
    expect(
      sentRequests
        .filter((request) => request.path === "/hosts/import")
        .map((request) => request.body.dry_run),
    ).toEqual([true]);
    await user.click(screen.getByRole("button", { name: "Add 3 hosts" }));
    expect(await screen.findByText("3 hosts were added.")).toBeVisible();
  });
});

describe("a host", () => {
  it("shows that its key has changed, and trusts a new key only with reason and confirmation", async () => {
    const user = userEvent.setup();
    const failure = {
      key: "ssh.host_key_changed",
      params: { host: HOST.name, fingerprint: "SHA256:new", pinned: "SHA256:old" },
    };
    overrideAnswer(({ method, path }) =>
      method === "GET" && path.endsWith("/preflight")
        ? { status: 200, body: { ...createPreflight(HOST, "failed"), failure } }
        : undefined,
    );
    openScreen(`/hosts/${HOST.id}`);
    expect(
      await screen.findByText("The host key has changed. Culprit does not connect to this host."),
    ).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Review new key…" }));
    const pin = await screen.findByRole("button", { name: "Trust new key" });
    expect(pin).toBeDisabled();
    await user.type(screen.getByRole("textbox", { name: "Reason" }), "reinstalled today");
    expect(pin).toBeDisabled();
    await user.click(screen.getByRole("checkbox", { name: "I have compared the fingerprint on the host" }));
    await user.click(pin);
    await waitFor(() =>
      expect(sentRequests.find((request) => request.path.endsWith("/host-key"))?.body).toMatchObject({
        reason: "reinstalled today",
      }),
    );
  });

  it("shows unavailable collectors with the commands that fix them", async () => {
    overrideAnswer(({ method, path }) =>
      method === "GET" && path.endsWith("/preflight")
        ? { status: 200, body: createPreflight({ ...HOST, name: "feed-0" }) }
        : undefined,
    );
    openScreen(`/hosts/${HOST.id}`);
    expect((await screen.findAllByText("apt install sysstat"))[0]).toBeVisible();
    expect(screen.getByText("1 unavailable")).toBeVisible();
  });

  it("lets an admin allow ptrace collectors, and explains their effect", async () => {
    const user = userEvent.setup();
    state.hosts = [{ ...HOST }];
    openScreen(`/hosts/${HOST.id}`);
    const allow = await screen.findByRole("switch", { name: "Allow on this host" });
    expect(screen.getByText(/can run many times slower/)).toBeVisible();
    expect(allow).not.toBeChecked();
    await user.click(allow);
    await waitFor(() => expect(allow).toBeChecked());
    expect(sentRequests.find((request) => request.method === "PATCH")?.body).toEqual({ allows_ptrace: true });
    expect(await screen.findByText("allowed")).toBeVisible();
  });

  it("shows other users whether ptrace is allowed, without a switch", async () => {
    state.role = "oncall";
    openScreen(`/hosts/${HOST.id}`);
    expect(await screen.findByText("not allowed")).toBeVisible();
    expect(screen.queryByRole("switch", { name: "Allow on this host" })).toBeNull();
  });

  it("shows an error if it does not exist or is not visible to the user", async () => {
    openScreen("/hosts/0193aaaa-0000-7000-8000-000000000000");
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "Host not found, or you have no access to it.",
    );
  });
});
