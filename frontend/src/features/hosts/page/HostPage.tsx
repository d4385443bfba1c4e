import { ActionIcon, Button, Menu } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { Camera, EllipsisVertical, Flag, Gauge, Stethoscope } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { Host } from "../../../client/models";
import { BlockSkeleton, EmptyState, ErrorLine, ErrorState, Loaded } from "../../../components/EmptyState";
import { CommandLine } from "../../../components/fields/CopyButton";
import { Link } from "../../../components/Link";
import { Page, Panel } from "../../../components/Page";
import { Tag } from "../../../components/StatusIcon";
import { FactList } from "../../../components/tables/FactList";
import { bytes, duration, milliseconds } from "../../../core/text/format";
import { remove } from "../../../lib/api";
import { useBusy } from "../../../lib/captures/useBusy";
import { useOpenDialog } from "../../../lib/dialogs";
import {
  keys,
  useAction,
  useCaptures,
  useHost,
  useMe,
  usePermission,
  usePreflight,
} from "../../../lib/queries";
import { useMessage } from "../../../lib/text/i18n";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { CapturesTable } from "../../../widgets/capture-progress/CapturesTable";
import { Timeline } from "../../../widgets/timeline/Timeline";
import { WatchersPanel } from "../../../widgets/watchers/WatchersPanel";
import type { Facts } from "../api";
import { HostChanges } from "./HostChanges";
import { HostContextPanel } from "./HostContextPanel";
import { HostFindings } from "./HostFindings";
import { HostMutes } from "./HostMutes";
import classes from "./HostPage.module.css";
import { PreflightPanel } from "./PreflightPanel";
import { TracingPanel } from "./TracingPanel";

const TrustKeyDialog = lazy(() => import("./TrustKeyDialog").then((m) => ({ default: m.TrustKeyDialog })));
const EditDialog = lazy(() => import("../forms/EditHostDialog").then((m) => ({ default: m.EditHostDialog })));

export function HostPage() {
  const { hostId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const host = useHost(hostId);
  if (host.data) return <HostContent host={host.data} />;
  return (
    <Page title={t("host.title")}>
      {host.error ? (
        <Panel>
          <ErrorState error={host.error} retry={() => void host.refetch()} />
        </Panel>
      ) : (
        <>
          <BlockSkeleton height={96} />
          <BlockSkeleton height={560} />
        </>
      )}
    </Page>
  );
}

type OpenDialog = "pin" | "edit" | undefined;

function HostContent({ host }: { host: Host }) {
  const { t } = useTranslation();
  const may = usePermission();
  const me = useMe();
  const openDialog = useOpenDialog();
  const captures = useCaptures({ host: host.id }, 20);
  const [open, setOpen] = useState<OpenDialog>();
  const busy = useBusy();
  const retire = useAction(() => remove(`/hosts/${host.id}`), [keys.hosts]);
  const here = me.data?.this_host === host.id;
  const capturable = host.state === "active" && may("capture.light");
  const capture = () => openDialog("capture", [host.id]);
  const diagnose = () => openDialog("diagnose", [host.id]);
  // Before the first capture the reader needs to know what will work; afterwards, what was measured.
  const isEmpty = captures.data?.items.length === 0;
  const preflight = host.state === "active" && <PreflightPanel host={host} />;
  return (
    <Page
      title={host.name}
      above={<Link to="/hosts">{t("nav.hosts")}</Link>}
      meta={
        <>
          {host.address && (
            <span className="num">
              {host.username}@{host.address}:{host.port}
            </span>
          )}
          {host.jump_host && <span>{t("host.via", { name: host.jump_host.name })}</span>}
          {Object.entries(host.labels).map(([name, value]) => (
            <Tag key={name}>
              {name}={value}
            </Tag>
          ))}
          {host.state !== "active" && <Tag>{t(`hosts.state.${host.state}` as "hosts.state.retired")}</Tag>}
        </>
      }
      actions={
        <>
          {here && may("demo.load") && (
            <Button
              variant="default"
              leftSection={<Gauge size={14} />}
              onClick={busy.start}
              disabled={busy.left > 0}
              loading={busy.pending}
            >
              {busy.left > 0 ? t("host.busyFor", { seconds: busy.left }) : t("start.busy")}
            </Button>
          )}
          {capturable && (
            <Button
              variant="default"
              leftSection={<Stethoscope size={14} />}
              onClick={diagnose}
              title={t("diagnose.text")}
            >
              {t("diagnose.button")}
            </Button>
          )}
          {capturable && (
            <Button leftSection={<Camera size={14} />} onClick={capture}>
              {t("host.capture")}
            </Button>
          )}
          {(may("host.edit") || may("host.trust_key")) && host.state !== "imported" && (
            <Menu position="bottom-end">
              <Menu.Target>
                <ActionIcon variant="default" aria-label={t("host.more")}>
                  <EllipsisVertical size={16} />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                {may("host.edit") && <Menu.Item onClick={() => setOpen("edit")}>{t("host.edit")}</Menu.Item>}
                {may("host.trust_key") && (
                  <Menu.Item onClick={() => setOpen("pin")}>{t("host.repin")}</Menu.Item>
                )}
                {may("host.retire") && host.state === "active" && (
                  <Menu.Item color="red" onClick={() => retire.mutate(undefined)}>
                    {t("host.retire")}
                  </Menu.Item>
                )}
              </Menu.Dropdown>
            </Menu>
          )}
        </>
      }
    >
      <ErrorLine error={busy.error ?? retire.error} />
      <HostNotices host={host} onPin={() => setOpen("pin")} />
      <HostFacts host={host} />
      {isEmpty && preflight}
      <HostFindings hostId={host.id} diagnose={capturable ? diagnose : undefined} />
      <Panel
        flush
        title={t("timeline.title")}
        headerExtra={
          <>
            <span className={classes.wide}>{t("timeline.keysHint")}</span>
            <Link to="/events">{t("events.title")}</Link>
            {may("event.report") && host.state !== "retired" && (
              <Button
                size="compact-xs"
                variant="default"
                leftSection={<Flag size={12} />}
                onClick={() => openDialog("report-event", [host.id])}
              >
                {t("events.report")}
              </Button>
            )}
          </>
        }
      >
        <Timeline
          hostId={host.id}
          empty={
            capturable ? (
              <Button mt="sm" leftSection={<Camera size={14} />} onClick={capture}>
                {t("host.firstCapture")}
              </Button>
            ) : undefined
          }
        />
      </Panel>
      <HostMutes hostId={host.id} />
      <HostContextPanel hostId={host.id} />
      <HostChanges hostId={host.id} />
      {host.state === "active" && <WatchersPanel host={host.id} />}
      <Panel flush title={t("nav.captures")}>
        <Loaded query={captures}>
          {({ items }) =>
            items.length > 0 ? (
              <CapturesTable captures={items} host={host.id} />
            ) : (
              <EmptyState title={t("timeline.empty")} />
            )
          }
        </Loaded>
      </Panel>
      {!captures.isPending && !isEmpty && preflight}
      {host.state === "active" && <TracingPanel host={host} />}
      <Suspense>
        {open === "pin" && <TrustKeyDialog host={host} onClose={() => setOpen(undefined)} />}
        {open === "edit" && <EditDialog host={host} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </Page>
  );
}

/** Notice about a changed or missing host key, else the line to add to authorized_keys until a check succeeds. */
function HostNotices({ host, onPin }: { host: Host; onPin: () => void }) {
  const { t } = useTranslation();
  const may = usePermission();
  const sentence = useMessage();
  const preflight = usePreflight(host.id).data;
  const line = host.credential?.authorized_keys_line;
  if (host.state !== "active") return null;
  const changed = preflight?.failure?.key === "ssh.host_key_changed";
  if (changed || !host.host_key)
    return (
      <div className={classes.stop} role="alert">
        <strong>{changed ? t("host.keyChanged") : t("host.keyMissing")}</strong>
        <p>{changed ? sentence(preflight?.failure) : t("host.keyMissingText")}</p>
        {may("host.trust_key") && (
          <div>
            <Button color="red" variant="outline" onClick={onPin}>
              {changed ? t("host.lookAtKey") : t("host.confirmKey")}
            </Button>
          </div>
        )}
      </div>
    );
  if (line && preflight?.state !== "done" && preflight !== undefined)
    return (
      <div className={classes.todo}>
        <strong>{t("host.pasteTitle")}</strong>
        <p>{t("host.pasteText", { user: host.username })}</p>
        <CommandLine text={line} />
      </div>
    );
  return null;
}

function HostFacts({ host }: { host: Host }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const preflight = usePreflight(host.id).data;
  const facts: Facts = { ...host.facts, ...preflight?.facts };
  const clock = preflight?.clock;
  const timings = preflight?.timings;
  const text = (value: unknown): string =>
    value === undefined || value === null || value === "" ? "–" : String(value);
  const items: [string, string][] = [
    [t("hosts.cpus"), text(facts.cpus)],
    [t("facts.numa"), text(facts.numa_nodes)],
    [t("hosts.memory"), bytes(facts.mem_bytes)],
    [t("facts.kernel"), text(facts.kernel)],
    [t("facts.distro"), text(facts.distro)],
    [t("facts.arch"), text(facts.arch)],
    [t("facts.cgroup"), text(facts.cgroup)],
  ];
  if (clock)
    items.push([
      t("facts.clock"),
      `${milliseconds(clock.offset_ms)} ± ${milliseconds(clock.uncertainty_ms)}`,
    ]);
  if (timings?.rtt_ms !== undefined) items.push([t("facts.rtt"), milliseconds(timings.rtt_ms)]);
  if (timings?.login_ms !== undefined) items.push([t("facts.login"), milliseconds(timings.login_ms)]);
  if (timings?.fork_ms !== undefined) items.push([t("facts.fork"), milliseconds(timings.fork_ms)]);
  if (host.state !== "imported") {
    items.push([
      t("facts.credential"),
      host.credential ? `${host.credential.name} · ${t(`credential.kinds.${host.credential.kind}`)}` : "–",
    ]);
    items.push([t("facts.sudo"), t(`addHost.sudoKinds.${host.sudo}`)]);
    items.push([t("facts.silence"), duration(host.max_silence_s * 1e9)]);
    items.push([
      t("facts.hostKey"),
      host.host_key ? `${host.host_key.type} ${host.host_key.fingerprint}` : "–",
    ]);
    if (host.host_key?.trusted_at) items.push([t("facts.pinned"), time.iso(host.host_key.trusted_at)]);
  }
  return (
    <Panel>
      <FactList items={items.filter(([, value]) => value !== "–")} />
    </Panel>
  );
}
