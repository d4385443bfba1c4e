import { Button, Checkbox } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { BookOpen, Camera, FileInput, Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Capture, Preview } from "../../client/types";
import { ButtonLink } from "../../components/Link";
import { TierTag } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { useOpenDialog } from "../../lib/dialogs";
import { keys, post, useAction, useMay, useMe } from "../../lib/queries";
import { usePreview } from "../../lib/usePreview";
import classes from "./Doors.module.css";

const SECONDS = 20;

/** Three ways to begin, each one click or one command: this machine, a host, a recording. */
export function Doors({ first }: { first: boolean }) {
  const { t } = useTranslation();
  const may = useMay();
  const openDialog = useOpenDialog();
  return (
    <div className={classes.doors}>
      <ThisMachine primary={first} />
      <Door title={t("start.add")} text={t("start.addText")}>
        {may("host.enrol") ? (
          <>
            <ButtonLink to="/hosts/new" variant="default" leftSection={<Plus size={14} />}>
              {t("nav.addHost")}
            </ButtonLink>
            <ButtonLink to="/hosts" search={{ bulk: "1" } as never} variant="subtle">
              {t("hosts.bulk")}
            </ButtonLink>
          </>
        ) : (
          <span className="dim">{t("addHost.notAllowed")}</span>
        )}
      </Door>
      <Door title={t("start.open")} text={t("start.openText")}>
        <Example />
        {may("capture.import") && (
          <Button variant="subtle" leftSection={<FileInput size={14} />} onClick={() => openDialog("import")}>
            {t("start.import")}
          </Button>
        )}
      </Door>
    </div>
  );
}

interface DoorProps {
  title: string;
  text: ReactNode;
  children: ReactNode;
}

function Door({ title, text, children }: DoorProps) {
  return (
    <section className={classes.door}>
      <h2>{title}</h2>
      <div className={classes.text}>{text}</div>
      <div className={classes.buttons}>{children}</div>
    </section>
  );
}

/** One click: busy if wanted, then a capture with the plan `cpu`; what it runs and costs stands beside it. */
function ThisMachine({ primary }: { primary: boolean }) {
  const { t } = useTranslation();
  const me = useMe();
  const may = useMay();
  const navigate = useNavigate();
  const here = me.data?.this_host ?? undefined;
  const [busy, setBusy] = useState(true);
  const body = { host_ids: here ? [here] : [], plan: "cpu", seconds: SECONDS };
  const allowed = may("capture.standard");
  const preview = usePreview(body, here !== undefined && allowed);
  const go = useAction(
    async () => {
      if (busy && may("demo.busy")) await post("/demo/busy", { seconds: SECONDS }).catch(() => undefined);
      return post<Capture>("/captures", { ...body, reason: t("start.reason") }, crypto.randomUUID());
    },
    [keys.captures, keys.hosts],
    (capture) => void navigate({ to: "/captures/$captureId", params: { captureId: capture.id } }),
  );
  if (!here)
    return (
      <Door title={t("start.here")} text={t("start.notEnrolled")}>
        <code className="mono">./culprit up</code>
      </Door>
    );
  return (
    <Door
      title={t("start.here")}
      text={
        <>
          {t("start.hereText")}
          {preview.data && <What preview={preview.data} />}
        </>
      }
    >
      {may("demo.busy") && (
        <Checkbox
          size="xs"
          label={t("start.busyToo")}
          checked={busy}
          onChange={(event) => setBusy(event.currentTarget.checked)}
        />
      )}
      <Button
        variant={primary ? "filled" : "default"}
        leftSection={<Camera size={14} />}
        disabled={!allowed || preview.data?.allowed === false}
        loading={go.isPending}
        onClick={() => go.mutate(undefined)}
      >
        {t("start.captureHere")}
      </Button>
      {!allowed && <span className="dim">{t("error.forbidden")}</span>}
      <ErrorLine error={go.error ?? preview.error} />
    </Door>
  );
}

function What({ preview }: { preview: Preview }) {
  const { t } = useTranslation();
  const cpu = preview.collectors.reduce((sum, one) => sum + one.cost.cpu_pct, 0);
  return (
    <div className={classes.what}>
      <TierTag tier={preview.tier} />{" "}
      {t("start.what", {
        collectors: preview.collectors.length,
        seconds: preview.total_seconds,
        cpu: Math.round(cpu * 10) / 10,
      })}
    </div>
  );
}

function Example() {
  const { t } = useTranslation();
  const may = useMay();
  const navigate = useNavigate();
  const open = useAction(
    () => post<Capture>("/imports/example", {}, crypto.randomUUID()),
    [keys.captures, keys.hosts],
    (capture) => {
      const run = capture.runs[0];
      void (run
        ? navigate({ to: "/runs/$runId", params: { runId: run.id } })
        : navigate({ to: "/captures/$captureId", params: { captureId: capture.id } }));
    },
  );
  if (!may("capture.import")) return <span className="dim">{t("error.forbidden")}</span>;
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
