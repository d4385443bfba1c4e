import { Button, Checkbox } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { BookOpen, Camera, FileInput, Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Preview } from "../../client/models";
import { ErrorLine } from "../../components/EmptyState";
import { ButtonLink } from "../../components/Link";
import { TierTag } from "../../components/StatusIcon";
import { useCapturePreview } from "../../lib/captures/useCapturePreview";
import { useOpenDialog } from "../../lib/dialogs";
import { post, queryKeys, useAction, useMe, usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./GetStarted.module.css";

const SECONDS = 20;

/** Render three entry points: capture this host, add another host, or open an example or import. */
export function GetStarted({ first }: { first: boolean }) {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  return (
    <div className={classes.choices}>
      <CaptureThisHost primary={first} />
      <EntryPoint title={t("start.add")} text={t("start.addText")}>
        {can("host.add") ? (
          <>
            <ButtonLink to="/hosts/new" variant="default" leftSection={<Plus size={14} />}>
              {t("nav.addHost")}
            </ButtonLink>
            <ButtonLink to="/hosts" search={{ bulk: "1" }} variant="subtle">
              {t("hosts.bulk")}
            </ButtonLink>
          </>
        ) : (
          <span className="dim">{t("addHost.notAllowed")}</span>
        )}
      </EntryPoint>
      <EntryPoint title={t("start.open")} text={t("start.openText")}>
        <ExampleCapture />
        {can("capture.import") && (
          <Button variant="subtle" leftSection={<FileInput size={14} />} onClick={() => openDialog("import")}>
            {t("start.import")}
          </Button>
        )}
      </EntryPoint>
    </div>
  );
}

interface EntryPointProps {
  title: string;
  text: ReactNode;
  children: ReactNode;
}

function EntryPoint({ title, text, children }: EntryPointProps) {
  return (
    <section className={classes.entryPoint}>
      <h2>{title}</h2>
      <div className={classes.text}>{text}</div>
      <div className={classes.buttons}>{children}</div>
    </section>
  );
}

/** Render the capture of this host: optional demo load, then the plan `cpu`, with a summary of its cost. */
function CaptureThisHost({ primary }: { primary: boolean }) {
  const { t } = useTranslation();
  const me = useMe();
  const can = usePermission();
  const navigate = useNavigate();
  const hostId = me.data?.this_host ?? undefined;
  const [busy, setBusy] = useState(true);
  const body = { host_ids: hostId ? [hostId] : [], plan: "cpu", seconds: SECONDS };
  const allowed = can("capture.standard");
  const preview = useCapturePreview(body, hostId !== undefined && allowed);
  const capture = useAction(
    async () => {
      if (busy && can("demo.load")) await post("/demo/load", { seconds: SECONDS }).catch(() => undefined);
      return post("/captures", { ...body, reason: t("start.reason") }, crypto.randomUUID());
    },
    [queryKeys.captures, queryKeys.hosts],
    ({ id }) => void navigate({ to: "/captures/$captureId", params: { captureId: id } }),
  );
  if (!hostId)
    return (
      <EntryPoint title={t("start.here")} text={t("start.notAdded")}>
        <code className="mono">./culprit up</code>
      </EntryPoint>
    );
  return (
    <EntryPoint
      title={t("start.here")}
      text={
        <>
          {t("start.hereText")}
          {preview.data && <CaptureCost preview={preview.data} />}
        </>
      }
    >
      {can("demo.load") && (
        <Checkbox
          size="xs"
          label={t("start.withDemoLoad")}
          checked={busy}
          onChange={(event) => setBusy(event.currentTarget.checked)}
        />
      )}
      <Button
        variant={primary ? "filled" : "default"}
        leftSection={<Camera size={14} />}
        disabled={!allowed || preview.data?.allowed === false}
        loading={capture.isPending}
        onClick={() => capture.mutate(undefined)}
      >
        {t("start.captureHere")}
      </Button>
      {!allowed && <span className="dim">{t("error.forbidden")}</span>}
      <ErrorLine error={capture.error ?? preview.error} />
    </EntryPoint>
  );
}

function CaptureCost({ preview }: { preview: Preview }) {
  const { t } = useTranslation();
  const cpu = preview.collectors.reduce((sum, collector) => sum + collector.cost.cpu_pct, 0);
  return (
    <div className={classes.captureCost}>
      <TierTag tier={preview.tier} />{" "}
      {t("start.what", {
        collectors: preview.collectors.length,
        seconds: preview.total_seconds,
        cpu: Math.round(cpu * 10) / 10,
      })}
    </div>
  );
}

function ExampleCapture() {
  const { t } = useTranslation();
  const can = usePermission();
  const navigate = useNavigate();
  const open = useAction(
    () => post("/imports/example", undefined, crypto.randomUUID()),
    [queryKeys.captures, queryKeys.hosts],
    (capture) => {
      const run = capture.runs[0];
      void (run
        ? navigate({ to: "/runs/$runId", params: { runId: run.id } })
        : navigate({ to: "/captures/$captureId", params: { captureId: capture.id } }));
    },
  );
  if (!can("capture.import")) return <span className="dim">{t("error.forbidden")}</span>;
  return (
    <>
      <Button
        variant="default"
        leftSection={<BookOpen size={14} />}
        loading={open.isPending}
        onClick={() => open.mutate(undefined)}
      >
        {t("start.example")}
      </Button>
      <ErrorLine error={open.error} />
    </>
  );
}
