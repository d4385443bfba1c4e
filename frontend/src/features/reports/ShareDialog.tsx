import { Button, NumberInput, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Report, ReportVersion } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { CommandLine } from "../../components/fields/CopyButton";
import { useShareVersion } from "../../lib/incidents/reports";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Reports.module.css";

const MOST_DAYS = 90;

interface Props {
  report: Report;
  version: ReportVersion;
  onClose: () => void;
}

/** Dialog that creates a share link to a frozen version; its URL is displayed only once. */
export function ShareDialog({ report, version, onClose }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [days, setDays] = useState<number | string>(14);
  const [note, setNote] = useState("");
  const share = useShareVersion(report);
  const newShare = share.data;
  return (
    <Dialog onClose={onClose} title={t("reports.share.title", { number: version.number })} size="36rem">
      {newShare?.url ? (
        <div className={classes.stack}>
          <div className={classes.newUrl} role="status">
            <p className={classes.note}>{t("reports.share.once")}</p>
            <CommandLine text={newShare.url} />
          </div>
          <p className={classes.note}>{t("reports.share.until", { at: time.iso(newShare.expires_at) })}</p>
          <div>
            <Button onClick={onClose}>{t("action.close")}</Button>
          </div>
        </div>
      ) : (
        <form
          className={classes.stack}
          onSubmit={(event) => {
            event.preventDefault();
            share.mutate({ version: version.id, days: Number(days), note: note.trim() });
          }}
        >
          <p className={classes.note}>{t("reports.share.text")}</p>
          <div className={classes.row}>
            <TextInput
              label={t("reports.share.note")}
              value={note}
              onChange={(event) => setNote(event.currentTarget.value)}
            />
            <NumberInput
              label={t("reports.share.days")}
              min={1}
              max={MOST_DAYS}
              value={days}
              onChange={setDays}
            />
          </div>
          <ErrorLine error={share.error} />
          <div className={classes.buttons}>
            <Button type="submit" loading={share.isPending} disabled={days === ""}>
              {t("reports.share.create")}
            </Button>
            <Button variant="default" onClick={onClose}>
              {t("action.cancel")}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
