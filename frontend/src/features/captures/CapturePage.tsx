import { Button } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { Camera } from "lucide-react";
import { useMemo } from "react";
import type { Capture } from "../../client/models";
import { CancelButton } from "../../components/CancelButton";
import { BlockSkeleton, EmptyState, ErrorLine } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { LoadingPage } from "../../components/LoadingPage";
import { Page, Panel } from "../../components/Page";
import { RunStateIcon, StatusIcon, Tag } from "../../components/StatusIcon";
import { formatBytes, formatMilliseconds } from "../../core/text/format";
import { useCaptureStream } from "../../lib/captures/useCaptureStream";
import { useOpenDialog } from "../../lib/dialogs";
import { isActive, post, queryKeys, useAction, usePermission } from "../../lib/queries";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { RunBars } from "../../widgets/capture-progress/RunBars";
import classes from "./CapturePage.module.css";
import { CaptureResults } from "./CaptureResults";
import { formatScope } from "./scope";

export function CapturePage() {
  const { captureId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const { query, link, since } = useCaptureStream(captureId);
  if (query.data) return <LiveCaptureView capture={query.data} link={link} since={since} />;
  return (
    <LoadingPage
      title={t("captures.one")}
      above={<Link to="/captures">{t("nav.captures")}</Link>}
      query={query}
    >
      <BlockSkeleton height={44} />
      <BlockSkeleton height={320} />
    </LoadingPage>
  );
}

interface Props {
  capture: Capture;
  link: "live" | "paused" | "ended";
  since: (runId: string, now?: number) => number;
}

function LiveCaptureView({ capture, link, since }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const names = useNames();
  const time = useTimeFormat();
  const openDialog = useOpenDialog();
  const active = isActive(capture.state);
  const cancel = useAction(() => post(`/captures/${capture.id}/cancel`), [queryKeys.capture(capture.id)]);

  const sum = (get: (run: Capture["runs"][number]) => number | null) =>
    capture.runs.reduce((all, run) => all + (get(run) ?? 0), 0);
  const counts = useMemo(() => {
    const out = new Map<string, number>();
    for (const run of capture.runs) out.set(run.state, (out.get(run.state) ?? 0) + 1);
    return [...out];
  }, [capture.runs]);
  const hostIds = capture.runs.flatMap((run) => (run.host ? [run.host.id] : []));
  return (
    <Page
      title={`#${capture.number} ${names.plan(capture.plan)}`}
      above={<Link to="/captures">{t("nav.captures")}</Link>}
      meta={
        <>
          <RunStateIcon state={capture.state} />
          {capture.source === "import" && <Tag>{t("captures.imported")}</Tag>}
          {capture.scope && capture.scope.kind !== "host" && (
            <Tag title={t("newCapture.scope")}>
              {t(`newCapture.scopeKinds.${capture.scope.kind}`)} {capture.scope.value}
            </Tag>
          )}
          {capture.reason && <span>“{capture.reason}”</span>}
          <span>
            {capture.requested_by?.name} · <span className="num">{time.iso(capture.created_at)}</span>
          </span>
        </>
      }
    >
      <div className={classes.bar}>
        <span className={classes.counts}>
          {counts.map(([state, n]) => (
            <span key={state}>
              <RunStateIcon state={state} /> <span className="num">{n}</span>
            </span>
          ))}
        </span>
        <span>
          <span className="dim">{t("captures.bytes")}</span>{" "}
          <span className="num">{formatBytes(sum((r) => r.bytes))}</span>
        </span>
        <span>
          <span className="dim">{t("captures.cpu")}</span>{" "}
          <span className="num">{formatMilliseconds(sum((r) => r.host_cpu_ms))}</span>
        </span>
        {link === "paused" && <StatusIcon tone="warn">{t("captures.paused")}</StatusIcon>}
        <span className={classes.actions}>
          <ErrorLine error={cancel.error} />
          {active && can("capture.cancel") && (
            <CancelButton loading={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
              {t("captures.cancel")}
            </CancelButton>
          )}
          {!active && capture.source !== "import" && can("capture.light") && (
            <Button
              variant="default"
              leftSection={<Camera size={14} />}
              onClick={() =>
                openDialog("capture", hostIds, capture.plan, [], capture.scope && formatScope(capture.scope))
              }
            >
              {t("captures.repeat")}
            </Button>
          )}
        </span>
      </div>
      {!active && <CaptureResults capture={capture} />}
      <Panel flush>
        {capture.runs.length === 0 ? (
          <EmptyState title={t("captures.noRuns")} />
        ) : (
          <RunBars capture={capture} since={since} />
        )}
      </Panel>
    </Page>
  );
}
