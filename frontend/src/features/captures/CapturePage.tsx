import { Button } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { Camera, Square } from "lucide-react";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Capture } from "../../client/types";
import { Link } from "../../components/Link";
import { Mark, StateMark, Tag } from "../../components/Mark";
import { Page, Panel } from "../../components/Page";
import { BlockSkeleton, Empty, ErrorLine, ErrorState } from "../../components/States";
import { bytes, milliseconds } from "../../core/format";
import { useOpenDialog } from "../../lib/dialogs";
import { isActive, keys, post, useAction, useMay } from "../../lib/queries";
import { useCaptureStream } from "../../lib/useCaptureStream";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
import { RunBars } from "../../renderers/capture/RunBars";
import classes from "./CapturePage.module.css";
import { scopeText } from "./scope";

export function CapturePage() {
  const { captureId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const { query, link, since } = useCaptureStream(captureId);
  if (query.data) return <Watched capture={query.data} link={link} since={since} />;
  return (
    <Page title={t("captures.one")}>
      <Panel>
        {query.error ? (
          <ErrorState error={query.error} retry={() => void query.refetch()} />
        ) : (
          <BlockSkeleton height={320} />
        )}
      </Panel>
    </Page>
  );
}

interface Props {
  capture: Capture;
  link: "live" | "paused" | "ended";
  since: (runId: string, now?: number) => number;
}

function Watched({ capture, link, since }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const names = useNames();
  const time = useTimeFormat();
  const openDialog = useOpenDialog();
  const active = isActive(capture.state);
  const cancel = useAction(() => post(`/captures/${capture.id}/cancel`), [keys.capture(capture.id)]);

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
          <StateMark state={capture.state} />
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
              <StateMark state={state} /> <span className="num">{n}</span>
            </span>
          ))}
        </span>
        <span>
          <span className="dim">{t("captures.bytes")}</span>{" "}
          <span className="num">{bytes(sum((r) => r.bytes))}</span>
        </span>
        <span>
          <span className="dim">{t("captures.cpu")}</span>{" "}
          <span className="num">{milliseconds(sum((r) => r.host_cpu_ms))}</span>
        </span>
        {link === "paused" && <Mark tone="warn">{t("captures.paused")}</Mark>}
        <span className={classes.actions}>
          <ErrorLine error={cancel.error} />
          {active && may("capture.cancel") && (
            <Button
              color="red"
              variant="outline"
              leftSection={<Square size={12} />}
              loading={cancel.isPending}
              onClick={() => cancel.mutate(undefined)}
            >
              {t("captures.cancel")}
            </Button>
          )}
          {!active && capture.source !== "import" && may("capture.light") && (
            <Button
              variant="default"
              leftSection={<Camera size={14} />}
              onClick={() =>
                openDialog("capture", hostIds, capture.plan, [], capture.scope && scopeText(capture.scope))
              }
            >
              {t("captures.again")}
            </Button>
          )}
        </span>
      </div>
      <Panel flush>
        {capture.runs.length === 0 ? (
          <Empty title={t("captures.noRuns")} />
        ) : (
          <RunBars capture={capture} since={since} />
        )}
      </Panel>
    </Page>
  );
}
