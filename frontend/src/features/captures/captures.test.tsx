import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { state } from "../../../mock/api";
import { startCapture } from "../../../mock/captures/live";
import { CAPTURES, createEndedRun, HOSTS } from "../../../mock/dataset";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import type { Capture, Host } from "../../client/models";
import { openScreen } from "../../testing/screen";

const HOST = HOSTS[1] as Host;

/** Fake EventSource whose messages are sent by tests. */
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
  send(event: string, data: unknown): void {
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
  it("previews commands and costs before it sends a request", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/captures?dialog=capture&on=${HOST.id}&plan=cpu`);
    expect(await screen.findByText(/perf record -F 99 -a -g/)).toBeVisible();
    expect(screen.getByText("about 33 s")).toBeVisible();
    expect(
      screen.getByText(/symbol tables of its programs are read once: about 10 MB and 0.9 s/),
    ).toBeVisible();
    expect(sentRequests.some((request) => request.method === "POST" && request.path === "/captures")).toBe(
      false,
    );
    await user.type(screen.getByRole("textbox", { name: "Reason" }), "p99 is bad");
    await user.click(screen.getByRole("button", { name: "Run on 1 host" }));
    await waitFor(() => expect(router.state.location.pathname).toMatch(/^\/captures\//));
    expect(
      sentRequests.find((request) => request.method === "POST" && request.path === "/captures")?.body,
    ).toEqual({
      host_ids: [HOST.id],
      plan: "cpu",
      reason: "p99 is bad",
    });
  });

  it("cannot start if the role does not allow the tier, and shows the reason", async () => {
    state.role = "investigator";
    openScreen(`/captures?dialog=capture&on=${HOST.id}&plan=sched`);
    expect(await screen.findByText(/capture.deep requires the role oncall/)).toBeVisible();
    expect(screen.getByRole("button", { name: "Run on 1 host" })).toBeDisabled();
  });

  it("requires a host", async () => {
    openScreen("/captures?dialog=capture");
    expect(await screen.findByText(/Select at least one host/)).toBeVisible();
    expect(screen.getByRole("button", { name: /^Run on/ })).toBeDisabled();
  });
});

describe("scope and options of a new capture", () => {
  const posted = () =>
    sentRequests.find((request) => request.method === "POST" && request.path === "/captures")?.body;

  it("include a validated scope", async () => {
    const user = userEvent.setup();
    openScreen(`/captures?dialog=capture&on=${HOST.id}&scope=port%3D`);
    const value = await screen.findByRole("textbox", { name: "Port" });
    expect(screen.getByText(/Enter the scope/)).toBeVisible();
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

  it("show the server's error at its field", async () => {
    overrideAnswer(({ path }) =>
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
    openScreen(`/captures?dialog=capture&on=${HOST.id}&scope=unit%3Dfeed`);
    const value = await screen.findByRole("textbox", { name: "Unit" });
    await waitFor(() => expect(value).toHaveAccessibleDescription(/does not take the value 'feed'/));
    expect(screen.getByText(/Correct the marked field/)).toBeVisible();
  });

  it("include options of custom collectors, of which on-demand collectors are marked", async () => {
    const user = userEvent.setup();
    openScreen(`/captures?dialog=capture&on=${HOST.id}&plan=custom`);
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

describe("a required option of a collector", () => {
  it("is marked, and the capture cannot start without it", async () => {
    const user = userEvent.setup();
    openScreen(`/captures?dialog=capture&on=${HOST.id}&plan=custom`);
    await user.click(await screen.findByRole("checkbox", { name: "Calls of a kernel function" }));
    const name = screen.getByRole("textbox", { name: /Kernel function/ });
    expect(name).toBeRequired();
    expect(screen.getByText(/An option is missing/)).toBeVisible();
    expect(screen.getByRole("button", { name: "Run on 1 host" })).toBeDisabled();
    await user.type(name, "vfs_open");
    await waitFor(() => expect(screen.getByRole("button", { name: "Run on 1 host" })).toBeEnabled());
  });
});

describe("a ptrace collector", () => {
  const strace = async (host: Host, scope = "process%3D4211") => {
    const user = userEvent.setup();
    openScreen(`/captures?dialog=capture&on=${host.id}&plan=custom&scope=${scope}`);
    await user.click(await screen.findByRole("checkbox", { name: "System calls of one process" }));
    return user;
  };
  const run = () => screen.getByRole("button", { name: "Run on 1 host" });

  it("runs only after the user has confirmed with the host name", async () => {
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
      expect(
        sentRequests.find((request) => request.method === "POST" && request.path === "/captures")?.body,
      ).toMatchObject({
        collectors: ["strace"],
        scope: { kind: "process", value: "4211" },
        confirm: host.name,
      }),
    );
  });

  it("links to the host if the host does not allow it", async () => {
    await strace(HOST);
    expect(await screen.findByText(`No administrator has allowed tracing on ${HOST.name}.`)).toBeVisible();
    expect(screen.getByRole("link", { name: `Check the permission on ${HOST.name}` })).toBeVisible();
    expect(screen.queryByRole("textbox", { name: /to confirm/ })).toBeNull();
    expect(run()).toBeDisabled();
  });

  it("requires the scope process", async () => {
    await strace(HOSTS[0] as Host, "");
    expect(await screen.findByText(/Tracing needs the scope process/)).toBeVisible();
    expect(run()).toBeDisabled();
  });
});

describe("a running capture", () => {
  const live = (): Capture => startCapture([HOST], "cpu", 30, "why", 5);

  it("follows the event stream to its end, and shows why a collector has no data", async () => {
    const capture = live();
    openScreen(`/captures/${capture.id}`);
    expect(await screen.findByRole("button", { name: "Cancel capture" })).toBeVisible();
    await waitFor(() => expect(Stream.last?.url).toContain(`/captures/${capture.id}/progress`));
    const run = createEndedRun(
      capture.runs[0]?.id ?? "",
      HOST,
      "cpu",
      30,
      Date.parse(capture.created_at) / 1000,
      "partial",
    );
    Stream.last?.send("run", run);
    expect(await screen.findByText("exit 255")).toBeVisible();
    expect(screen.getByText(/perf_event_paranoid setting is 4/)).toBeVisible();
    expect(screen.getByText(/tool=iostat|iostat/)).toBeVisible();
    overrideAnswer(({ path }) =>
      path === `/captures/${capture.id}`
        ? { status: 200, body: { ...capture, state: "partial", runs: [run] } }
        : undefined,
    );
    Stream.last?.send("capture", { state: "partial" });
    await waitFor(() => expect(screen.queryByRole("button", { name: "Cancel capture" })).toBeNull());
    expect(Stream.last?.readyState).toBe(2);
  });

  it("links to its results when it has ended", async () => {
    const capture = CAPTURES.find((item) => item.state === "done" && item.runs.length === 1);
    openScreen(`/captures/${capture?.id}`);
    const results = (await screen.findByRole("heading", { name: "Results" })).closest(
      "section",
    ) as HTMLElement;
    expect(await within(results).findByRole("link", { name: /finding/ })).toHaveAttribute(
      "href",
      `/runs/${capture?.runs[0]?.id}`,
    );
    expect(await within(results).findByRole("link", { name: "View on timeline" })).toBeVisible();
  });

  it("is canceled with one click", async () => {
    const user = userEvent.setup();
    const capture = live();
    openScreen(`/captures/${capture.id}`);
    await user.click(await screen.findByRole("button", { name: "Cancel capture" }));
    await waitFor(() =>
      expect(sentRequests.some((request) => request.path === `/captures/${capture.id}/cancel`)).toBe(true),
    );
    expect((await screen.findAllByText("canceled"))[0]).toBeVisible();
  });

  it("is polled every two seconds if the event stream is closed", async () => {
    const capture = live();
    openScreen(`/captures/${capture.id}`);
    await screen.findByRole("button", { name: "Cancel capture" });
    await waitFor(() => expect(Stream.last).toBeDefined());
    const stream = Stream.last as Stream;
    stream.readyState = 2;
    act(() => void stream.dispatchEvent(new Event("error")));
    expect(await screen.findByText("Live updates paused. Refreshing every 2 s.")).toBeVisible();
    const before = sentRequests.filter((request) => request.path === `/captures/${capture.id}`).length;
    await waitFor(
      () =>
        expect(
          sentRequests.filter((request) => request.path === `/captures/${capture.id}`).length,
        ).toBeGreaterThan(before),
      { timeout: 5000 },
    );
  });

  it("reopens the event stream some time after it was closed", async () => {
    const capture = live();
    openScreen(`/captures/${capture.id}`);
    await screen.findByRole("button", { name: "Cancel capture" });
    await waitFor(() => expect(Stream.last).toBeDefined());
    const refused = Stream.last as Stream;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      refused.readyState = 2;
      act(() => void refused.dispatchEvent(new Event("error")));
      expect(screen.getByText("Live updates paused. Refreshing every 2 s.")).toBeVisible();
      act(() => void vi.advanceTimersByTime(29_000));
      expect(Stream.last).toBe(refused);
      act(() => void vi.advanceTimersByTime(31_500));
      expect(Stream.last).not.toBe(refused);
      expect(screen.queryByText("Live updates paused. Refreshing every 2 s.")).toBeNull();
    } finally {
      vi.useRealTimers();
    }
  });

  it("does not fall back to polling while the browser reconnects", async () => {
    const capture = live();
    openScreen(`/captures/${capture.id}`);
    await screen.findByRole("button", { name: "Cancel capture" });
    await waitFor(() => expect(Stream.last).toBeDefined());
    const stream = Stream.last as Stream;
    stream.readyState = 0;
    act(() => void stream.dispatchEvent(new Event("error")));
    expect(screen.queryByText("Live updates paused. Refreshing every 2 s.")).toBeNull();
  });

  it("cannot be canceled by a viewer", async () => {
    state.role = "viewer";
    const capture = live();
    openScreen(`/captures/${capture.id}`);
    await screen.findByText("“why”");
    expect(screen.queryByRole("button", { name: "Cancel capture" })).toBeNull();
  });
});

describe("the list of captures", () => {
  it("shows the state of each capture", async () => {
    openScreen("/captures");
    const first = CAPTURES[0] as Capture;
    const row = (await screen.findByRole("link", { name: `#${first.number}` })).closest("tr") as HTMLElement;
    expect(within(row).getByText("done")).toBeVisible();
  });

  it("reaches the oldest capture page by page, and states why a page failed", async () => {
    openScreen("/captures");
    // Roles of hundreds of rows take too long to compute, so the rows are read from the document.
    const numbers = () =>
      [...document.querySelectorAll("tbody td:first-child")].map((cell) => cell.textContent);
    const loadMore = () => {
      const button = [...document.querySelectorAll("button")].find(
        ({ textContent }) => textContent === "Load more",
      );
      if (button && !button.disabled) fireEvent.click(button);
      return button;
    };
    await waitFor(() => expect(numbers()).toHaveLength(100));
    loadMore();
    await waitFor(() => expect(numbers()).toHaveLength(200));
    overrideAnswer(({ path, query }) =>
      path === "/captures" && query.get("cursor") === "200"
        ? { status: 422, body: { status: 422, title: "", detail: "The cursor is too old.", key: "" } }
        : undefined,
    );
    loadMore();
    expect(await screen.findByText("The cursor is too old.")).toBeInTheDocument();
    overrideAnswer(undefined);
    const oldest = `#${CAPTURES.at(-1)?.number}`;
    await waitFor(() => {
      loadMore();
      expect(numbers().at(-1)).toBe(oldest);
    });
    await waitFor(() => expect(loadMore()).toBeUndefined());
    expect(new Set(numbers()).size).toBe(numbers().length);
  });

  it("has an empty state", async () => {
    overrideAnswer(({ method, path }) =>
      method === "GET" && path === "/captures" ? { status: 200, body: { items: [], next: null } } : undefined,
    );
    openScreen("/captures");
    expect(await screen.findByText("No captures yet")).toBeVisible();
  });
});

describe("an import", () => {
  it("shows the server's error with its line number", async () => {
    const user = userEvent.setup();
    overrideAnswer(({ path }) =>
      path === "/imports"
        ? {
            status: 422,
            body: { status: 422, title: "", detail: "Line 3 is neither a sample nor a frame.", key: "" },
          }
        : undefined,
    );
    openScreen("/captures?dialog=import");
    await screen.findByText("Host without SSH access");
    const input = document.querySelector<HTMLInputElement>('input[type="file"]') as HTMLInputElement;
    await user.upload(input, new File(["rubbish"], "perf.txt"));
    await user.click(screen.getAllByRole("button", { name: "Import" }).at(-1) as HTMLElement);
    expect(await screen.findByText("Line 3 is neither a sample nor a frame.")).toBeVisible();
  });
});
