import { ActionIcon, Button, Menu } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { Camera, EllipsisVertical, Flag, Gauge, Stethoscope } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { Host } from "../../../client/models";
import { Collapsible } from "../../../components/Collapsible";
import { BlockSkeleton, ErrorLine } from "../../../components/EmptyState";
import { CommandLine } from "../../../components/fields/CopyButton";
import { Link } from "../../../components/Link";
import { LoadingPage } from "../../../components/LoadingPage";
import { NearViewport } from "../../../components/NearViewport";
import { Page, Panel } from "../../../components/Page";
import { Tag } from "../../../components/StatusIcon";
import { FactList } from "../../../components/tables/FactList";
import { formatBytes, formatDuration, formatMilliseconds } from "../../../core/text/format";
import { remove } from "../../../lib/api";
import { useDemoLoad } from "../../../lib/captures/useDemoLoad";
import { useOpenDialog } from "../../../lib/dialogs";
import {
  queryKeys,
  useAction,
  useCaptures,
  useHost,
  useHostFindings,
  useMe,
  usePermission,
  usePreflight,
} from "../../../lib/queries";
import { useMessage } from "../../../lib/text/i18n";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { Timeline } from "../../../widgets/timeline/Timeline";
import { useOverview } from "../../../widgets/timeline/useTimelineData";
import type { Facts } from "../api";
import { HostFindings } from "./HostFindings";
import classes from "./HostPage.module.css";

const HostDetails = lazy(() => import("./HostDetails").then((m) => ({ default: m.HostDetails })));
const PreflightPanel = lazy(() => import("./PreflightPanel").then((m) => ({ default: m.PreflightPanel })));
const TrustKeyDialog = lazy(() => import("./TrustKeyDialog").then((m) => ({ default: m.TrustKeyDialog })));
const EditDialog = lazy(() => import("../forms/EditHostDialog").then((m) => ({ default: m.EditHostDialog })));

export function HostPage() {
  const { hostId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const host = useHost(hostId);
  // Findings, facts of the check and names that arrive one after the other would move what is below them.
  const isFindingsPending = useHostFindings(hostId).isPending;
  const isPreflightPending = usePreflight(hostId).isPending;
  const isReady = useNames().ready && !isFindingsPending && !isPreflightPending;
  if (host.data && isReady) return <HostContent host={host.data} />;
  return (
    <LoadingPage
      title={t("host.title")}
      above={<Link to="/hosts">{t("nav.hosts")}</Link>}
      query={host}
      actionsWidth={270}
    >
      <BlockSkeleton height={96} />
      <BlockSkeleton height={220} />
      <BlockSkeleton height={560} />
    </LoadingPage>
  );
}

type OpenDialog = "trustKey" | "edit" | undefined;

function HostContent({ host }: { host: Host }) {
  const { t } = useTranslation();
  const can = usePermission();
  const me = useMe();
  const openDialog = useOpenDialog();
  const captures = useCaptures({ host: host.id }, 20);
  const [open, setOpen] = useState<OpenDialog>();
  const demoLoad = useDemoLoad();
  const names = useNames();
  const findings = useHostFindings(host.id);
  const overview = useOverview(host.id);
  const retire = useAction(() => remove(`/hosts/${host.id}`), [queryKeys.hosts]);
  const here = me.data?.this_host === host.id;
  const capturable = host.state === "active" && can("capture.light");
  const capture = () => openDialog("capture", [host.id]);
  const diagnose = () => openDialog("diagnose", [host.id]);
  // Before the first capture the reader needs to know what will work; afterwards, what was measured.
  const isEmpty = captures.data?.items.length === 0;
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
          {here && can("demo.load") && (
            <Button
              variant="default"
              leftSection={<Gauge size={14} />}
              onClick={demoLoad.start}
              disabled={demoLoad.left > 0}
              loading={demoLoad.pending}
            >
              {demoLoad.left > 0 ? t("host.demoLoadFor", { seconds: demoLoad.left }) : t("start.demoLoad")}
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
          {(can("host.edit") || can("host.trust_key")) && host.state !== "imported" && (
            <Menu position="bottom-end">
              <Menu.Target>
                <ActionIcon variant="default" aria-label={t("host.more")}>
                  <EllipsisVertical size={16} />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                {can("host.edit") && <Menu.Item onClick={() => setOpen("edit")}>{t("host.edit")}</Menu.Item>}
                {can("host.trust_key") && (
                  <Menu.Item onClick={() => setOpen("trustKey")}>{t("host.changeKey")}</Menu.Item>
                )}
                {can("host.retire") && host.state === "active" && (
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
      <ErrorLine error={demoLoad.error ?? retire.error} />
      <HostNotices host={host} onTrustKey={() => setOpen("trustKey")} />
      <HostFacts host={host} />
      {isEmpty && host.state === "active" && (
        <Suspense fallback={<BlockSkeleton height={160} />}>
          <PreflightPanel host={host} />
        </Suspense>
      )}
      <HostFindings hostId={host.id} diagnose={capturable ? diagnose : undefined} />
      <Panel
        flush
        title={t("timeline.title")}
        headerExtra={
          <>
            <span className={classes.wideOnly}>{t("timeline.keysHint")}</span>
            <Link to="/events">{t("events.title")}</Link>
            {can("event.report") && host.state !== "retired" && (
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
      <NearViewport
        height={640}
        margin="0px"
        ready={!findings.isPending && !overview.isPending && names.ready}
      >
        <HostDetails host={host} captures={captures} />
      </NearViewport>
      <Suspense>
        {open === "trustKey" && <TrustKeyDialog host={host} onClose={() => setOpen(undefined)} />}
        {open === "edit" && <EditDialog host={host} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </Page>
  );
}

/** Notice about a changed or missing host key, else the line to add to authorized_keys until a check succeeds. */
function HostNotices({ host, onTrustKey }: { host: Host; onTrustKey: () => void }) {
  const { t } = useTranslation();
  const can = usePermission();
  const formatMessage = useMessage();
  const preflight = usePreflight(host.id).data;
  const line = host.credential?.authorized_keys_line;
  if (host.state !== "active") return null;
  const changed = preflight?.failure?.key === "ssh.host_key_changed";
  if (changed || !host.host_key)
    return (
      <div className={classes.keyWarning} role="alert">
        <strong>{changed ? t("host.keyChanged") : t("host.keyMissing")}</strong>
        <p>{changed ? formatMessage(preflight?.failure) : t("host.keyMissingText")}</p>
        {can("host.trust_key") && (
          <div>
            <Button color="red" variant="outline" onClick={onTrustKey}>
              {changed ? t("host.reviewKey") : t("host.confirmKey")}
            </Button>
          </div>
        )}
      </div>
    );
  if (line && preflight?.state !== "done" && preflight !== undefined)
    return (
      <div className={classes.setupNotice}>
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
    [t("hosts.memory"), formatBytes(facts.mem_bytes)],
    [t("facts.kernel"), text(facts.kernel)],
    [t("facts.distro"), text(facts.distro)],
    [t("facts.arch"), text(facts.arch)],
    [t("facts.cgroup"), text(facts.cgroup)],
  ];
  const connection: [string, string][] = [];
  if (clock)
    connection.push([
      t("facts.clock"),
      `${formatMilliseconds(clock.offset_ms)} ± ${formatMilliseconds(clock.uncertainty_ms)}`,
    ]);
  if (timings?.rtt_ms !== undefined) connection.push([t("facts.rtt"), formatMilliseconds(timings.rtt_ms)]);
  if (timings?.login_ms !== undefined)
    connection.push([t("facts.login"), formatMilliseconds(timings.login_ms)]);
  if (timings?.fork_ms !== undefined) connection.push([t("facts.fork"), formatMilliseconds(timings.fork_ms)]);
  if (host.state !== "imported") {
    connection.push([
      t("facts.credential"),
      host.credential ? `${host.credential.name} · ${t(`credential.kinds.${host.credential.kind}`)}` : "–",
    ]);
    connection.push([t("facts.sudo"), t(`addHost.sudoKinds.${host.sudo}`)]);
    connection.push([t("facts.silence"), formatDuration(host.max_silence_s * 1e9)]);
    connection.push([
      t("facts.hostKey"),
      host.host_key ? `${host.host_key.type} ${host.host_key.fingerprint}` : "–",
    ]);
    if (host.host_key?.trusted_at)
      connection.push([t("facts.trustedSince"), time.iso(host.host_key.trusted_at)]);
  }
  const hint = [
    host.credential?.name,
    host.host_key?.type,
    timings?.rtt_ms !== undefined && `${t("facts.rtt")} ${formatMilliseconds(timings.rtt_ms)}`,
  ];
  return (
    <Panel flush>
      <h2 className="visually-hidden">{t("facts.title")}</h2>
      <div className={classes.pad}>
        <FactList items={items.filter(([, value]) => value !== "–")} />
      </div>
      {connection.length > 0 && (
        <Collapsible id="connection" title={t("facts.connection")} hint={hint.filter(Boolean).join(" · ")}>
          <FactList items={connection.filter(([, value]) => value !== "–")} />
        </Collapsible>
      )}
    </Panel>
  );
}
