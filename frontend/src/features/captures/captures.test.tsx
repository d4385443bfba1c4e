import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { state } from "../../mock/api";
import { begin } from "../../mock/live";
import { answerInstead, sent } from "../../mock/msw";
import { CAPTURES, endedRun, HOSTS } from "../../mock/world";
import type { Capture, Host } from "../client/types";
import { open } from "../testing/screen";

const HOST = HOSTS[1] as Host;

/** Stands in for the browser's own: tests say what arrives. */
class Stream extends EventTarget {
  static last: Stream | undefined;
  static readonly CLOSED = 2;
  readyState = 1;
  constructor(readonly url: string) {
    super();
    Stream.last = this;
  }
  close(): void {
    this.readyState = 2;
  }
  say(event: string, data: unknown): void {
    act(() => void this.dispatchEvent(new MessageEvent(event, { data: JSON.stringify(data) })));
  }
}

beforeEach(() => {
  state.hosts = HOSTS.slice(0, 8);
  vi.stubGlobal("EventSource", Stream);
});
afterEach(() => {
  state.role = "admin";
  state.hosts = [...HOSTS];
  vi.unstubAllGlobals();
});

describe("a new capture", () => {
  it("shows every command, its cost and where it works before anything is sent", async () => {
    const user = userEvent.setup();
    const router = open(`/captures?dialog=capture&on=${HOST.id}&plan=cpu`);
    expect(await screen.findByText(/perf record -F 99 -a -g/)).toBeVisible();
    expect(screen.getByText("about 33 s")).toBeVisible();
    expect(sent.some((one) => one.method === "POST" && one.path === "/captures")).toBe(false);
    await user.type(screen.getByRole("textbox", { name: "Reason" }), "p99 is bad");
    await user.click(screen.getByRole("button", { name: "Run on 1 host" }));
    await waitFor(() => expect(router.state.location.pathname).toMatch(/^\/captures\//));
    expect(sent.find((one) => one.method === "POST" && one.path === "/captures")?.body).toEqual({
      host_ids: [HOST.id],
      plan: "cpu",
      reason: "p99 is bad",
    });
  });

  it("is refused with its reason where the role does not allow the tier", async () => {
    state.role = "investigator";
    open(`/captures?dialog=capture&on=${HOST.id}&plan=sched`);
    expect(await screen.findByText(/capture.deep needs the role oncall/)).toBeVisible();
    expect(screen.getByRole("button", { name: "Run on 1 host" })).toBeDisabled();
  });

  it("asks for hosts first", async () => {
    open("/captures?dialog=capture");
    expect(await screen.findByText(/Choose at least one host/)).toBeVisible();
    expect(screen.getByRole("button", { name: /^Run on/ })).toBeDisabled();
  });
});

describe("what a new capture looks at", () => {
  const posted = () => sent.find((one) => one.method === "POST" && one.path === "/captures")?.body;

  it("is a checked value that is sent with the capture", async () => {
    const user = userEvent.setup();
    open(`/captures?dialog=capture&on=${HOST.id}&scope=port%3D`);
    const value = await screen.findByRole("textbox", { name: "Port" });
    expect(screen.getByText(/Say what to look at/)).toBeVisible();
    await user.type(value, "99999");
    await user.tab();
    expect(screen.getByText("A number from 1 to 65535")).toBeVisible();
    expect(screen.getByRole("button", { name: "Run on 1 host" })).toBeDisabled();
    await user.clear(value);
    await user.type(value, "8080");
    await waitFor(() => expect(screen.getByRole("button", { name: "Run on 1 host" })).toBeEnabled());
    await user.click(screen.getByRole("button", { name: "Run on 1 host" }));
    await waitFor(() => expect(posted()).toMatchObject({ scope: { kind: "port", value: "8080" } }));
  });

  it("shows the server's refusal at the field that it is about", async () => {
    answerInstead(({ path }) =>
      path === "/captures/preview"
        ? {
            status: 422,
            body: {
              status: 422,
              title: "",
              detail: "",
              key: "capture.scope_invalid",
              params: { kind: "unit", value: "feed" },
            },
          }
        : undefined,
    );
    open(`/captures?dialog=capture&on=${HOST.id}&scope=unit%3Dfeed`);
    const value = await screen.findByRole("textbox", { name: "Unit" });
    await waitFor(() => expect(value).toHaveAccessibleDescription(/does not take the value 'feed'/));
    expect(screen.getByText(/once the marked field is corrected/)).toBeVisible();
  });

  it("takes values for the collectors of one's own choice, and marks those that are on demand", async () => {
    const user = userEvent.setup();
    open(`/captures?dialog=capture&on=${HOST.id}&plan=custom`);
    const redis = await screen.findByRole("checkbox", { name: "Redis" });
    expect(screen.getAllByText("on demand").length).toBeGreaterThan(1);
    await user.click(redis);
    const port = within(screen.getByRole("group", { name: "Redis" })).getByRole("textbox", { name: "Port" });
    await user.type(port, "x");
    expect(port).toHaveAccessibleDescription(/must match/);
    await user.clear(port);
    await user.type(port, "6380");
    await waitFor(() => expect(screen.getByRole("button", { name: "Run on 1 host" })).toBeEnabled());
    await user.click(screen.getByRole("button", { name: "Run on 1 host" }));
    await waitFor(() =>
      expect(posted()).toMatchObject({
        collectors: ["redis_info"],
        options: { redis_info: { port: "6380" } },
      }),
    );
  });
});

describe("a value that a collector cannot run without", () => {
  it("is marked, and nothing is asked of the server before it is there", async () => {
    const user = userEvent.setup();
    open(`/captures?dialog=capture&on=${HOST.id}&plan=custom`);
    await user.click(await screen.findByRole("checkbox", { name: "Calls of a kernel function" }));
    const name = screen.getByRole("textbox", { name: /Kernel function/ });
    expect(name).toBeRequired();
    expect(screen.getByText(/One value is missing/)).toBeVisible();
    expect(screen.getByRole("button", { name: "Run on 1 host" })).toBeDisabled();
    await user.type(name, "vfs_open");
    await waitFor(() => expect(screen.getByRole("button", { name: "Run on 1 host" })).toBeEnabled());
  });
});

describe("a tool that stops a process", () => {
  const strace = async (host: Host, scope = "process%3D4211") => {
    const user = userEvent.setup();
    open(`/captures?dialog=capture&on=${host.id}&plan=custom&scope=${scope}`);
    await user.click(await screen.findByRole("checkbox", { name: "System calls of one process" }));
    return user;
  };
  const run = () => screen.getByRole("button", { name: "Run on 1 host" });

  it("runs only once the name of the host was typed", async () => {
    const host = HOSTS[0] as Host;
    const user = await strace(host);
    const confirm = await screen.findByRole("textbox", { name: `Type ${host.name} to confirm` });
    expect(confirm).toHaveAccessibleDescription(
      `Process 4211 on ${host.name} will be stopped at every system call.`,
    );
    await screen.findByText(/strace -f -ttt/);
    expect(run()).toBeDisabled();
    await user.type(confirm, host.name.slice(0, -1));
    expect(run()).toBeDisabled();
    await user.type(confirm, host.name.slice(-1));
    await waitFor(() => expect(run()).toBeEnabled());
    await user.click(run());
    await waitFor(() =>
      expect(sent.find((one) => one.method === "POST" && one.path === "/captures")?.body).toMatchObject({
        collectors: ["strace"],
        scope: { kind: "process", value: "4211" },
        confirm: host.name,
      }),
    );
  });

  it("leads to the host where nobody allowed it", async () => {
    await strace(HOST);
    expect(await screen.findByText(`No administrator has allowed tracing on ${HOST.name}.`)).toBeVisible();
    expect(screen.getByRole("link", { name: `See where an admin allows it on ${HOST.name}` })).toBeVisible();
    expect(screen.queryByRole("textbox", { name: /to confirm/ })).toBeNull();
    expect(run()).toBeDisabled();
  });

  it("asks for one process", async () => {
    await strace(HOSTS[0] as Host, "");
    expect(await screen.findByText(/Tracing needs one process/)).toBeVisible();
    expect(run()).toBeDisabled();
  });
});

describe("a capture that runs", () => {
  const live = (): Capture => begin([HOST], "cpu", 30, "why", 5);

  it("follows the stream to its end, and shows why a collector brought nothing home", async () => {
    const capture = live();
    open(`/captures/${capture.id}`);
    expect(await screen.findByRole("button", { name: "Cancel the capture" })).toBeVisible();
    await waitFor(() => expect(Stream.last?.url).toContain(`/captures/${capture.id}/progress`));
    const run = endedRun(
      capture.runs[0]?.id ?? "",
      HOST,
      "cpu",
      30,
      Date.parse(capture.created_at) / 1000,
      "partial",
    );
    Stream.last?.say("run", run);
    expect(await screen.findByText("exit 255")).toBeVisible();
    expect(screen.getByText(/perf_event_paranoid setting is 4/)).toBeVisible();
    expect(screen.getByText(/tool=iostat|iostat/)).toBeVisible();
    answerInstead(({ path }) =>
      path === `/captures/${capture.id}`
        ? { status: 200, body: { ...capture, state: "partial", runs: [run] } }
        : undefined,
    );
    Stream.last?.say("capture", { state: "partial" });
    await waitFor(() => expect(screen.queryByRole("button", { name: "Cancel the capture" })).toBeNull());
    expect(Stream.last?.readyState).toBe(2);
  });

  it("is cancelled by one press", async () => {
    const user = userEvent.setup();
    const capture = live();
    open(`/captures/${capture.id}`);
    await user.click(await screen.findByRole("button", { name: "Cancel the capture" }));
    await waitFor(() => expect(sent.some((one) => one.path === `/captures/${capture.id}/cancel`)).toBe(true));
    expect((await screen.findAllByText("cancelled"))[0]).toBeVisible();
  });

  it("is asked for every two seconds where the stream is refused", async () => {
    const capture = live();
    open(`/captures/${capture.id}`);
    await screen.findByRole("button", { name: "Cancel the capture" });
    await waitFor(() => expect(Stream.last).toBeDefined());
    const stream = Stream.last as Stream;
    stream.readyState = 2;
    act(() => void stream.dispatchEvent(new Event("error")));
    expect(await screen.findByText("live updates paused; refreshed every 2 s")).toBeVisible();
    const before = sent.filter((one) => one.path === `/captures/${capture.id}`).length;
    await waitFor(
      () =>
        expect(sent.filter((one) => one.path === `/captures/${capture.id}`).length).toBeGreaterThan(before),
      { timeout: 5000 },
    );
  });

  it("goes live again by itself some time after the stream was refused", async () => {
    const capture = live();
    open(`/captures/${capture.id}`);
    await screen.findByRole("button", { name: "Cancel the capture" });
    await waitFor(() => expect(Stream.last).toBeDefined());
    const refused = Stream.last as Stream;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      refused.readyState = 2;
      act(() => void refused.dispatchEvent(new Event("error")));
      expect(screen.getByText("live updates paused; refreshed every 2 s")).toBeVisible();
      act(() => void vi.advanceTimersByTime(29_000));
      expect(Stream.last).toBe(refused);
      act(() => void vi.advanceTimersByTime(31_500));
      expect(Stream.last).not.toBe(refused);
      expect(screen.queryByText("live updates paused; refreshed every 2 s")).toBeNull();
    } finally {
      vi.useRealTimers();
    }
  });

  it("keeps trying by itself while the browser reconnects", async () => {
    const capture = live();
    open(`/captures/${capture.id}`);
    await screen.findByRole("button", { name: "Cancel the capture" });
    await waitFor(() => expect(Stream.last).toBeDefined());
    const stream = Stream.last as Stream;
    stream.readyState = 0;
    act(() => void stream.dispatchEvent(new Event("error")));
    expect(screen.queryByText("live updates paused; refreshed every 2 s")).toBeNull();
  });

  it("cannot be cancelled by a viewer", async () => {
    state.role = "viewer";
    const capture = live();
    open(`/captures/${capture.id}`);
    await screen.findByText("“why”");
    expect(screen.queryByRole("button", { name: "Cancel the capture" })).toBeNull();
  });
});

describe("captures that have ended", () => {
  it("are listed with state, hosts and cost", async () => {
    open("/captures");
    const first = CAPTURES[0] as Capture;
    const row = (await screen.findByRole("link", { name: `#${first.number}` })).closest("tr") as HTMLElement;
    expect(within(row).getByText("done")).toBeVisible();
  });

  it("begin with an invitation where there are none", async () => {
    answerInstead(({ method, path }) =>
      method === "GET" && path === "/captures" ? { status: 200, body: { items: [], next: null } } : undefined,
    );
    open("/captures");
    expect(await screen.findByText("Nothing was captured yet")).toBeVisible();
  });
});

describe("an import", () => {
  it("shows the server's reason, with the line that it names", async () => {
    const user = userEvent.setup();
    answerInstead(({ path }) =>
      path === "/imports"
        ? {
            status: 422,
            body: { status: 422, title: "", detail: "Line 3 is neither a sample nor a frame.", key: "" },
          }
        : undefined,
    );
    open("/captures?dialog=import");
    await screen.findByText("A host that cannot be reached");
    const input = document.querySelector<HTMLInputElement>('input[type="file"]') as HTMLInputElement;
    await user.upload(input, new File(["rubbish"], "perf.txt"));
    await user.click(screen.getAllByRole("button", { name: "Import" }).at(-1) as HTMLElement);
    expect(await screen.findByText("Line 3 is neither a sample nor a frame.")).toBeVisible();
  });
});
