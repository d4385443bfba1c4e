import { Button, NumberInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Report, ReportVersion } from "../../client/reports";
import { CommandLine } from "../../components/Copy";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/States";
import { useShare } from "../../lib/reports";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./Reports.module.css";

const MOST_DAYS = 90;

interface Props {
  report: Report;
  version: ReportVersion;
  onClose: () => void;
}

/** Makes a link to a frozen version; its address is shown this once. */
export function ShareDialog({ report, version, onClose }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [days, setDays] = useState<number | string>(14);
  const [note, setNote] = useState("");
  const share = useShare(report);
  const made = share.data;
  return (
    <Dialog onClose={onClose} title={t("reports.share.title", { number: version.number })} size="36rem">
      {made?.url ? (
        <div className={classes.stack}>
          <div className={classes.once} role="status">
            <p className={classes.note}>{t("reports.share.once")}</p>
            <CommandLine text={made.url} />
          </div>
          <p className={classes.note}>{t("reports.share.until", { at: time.iso(made.expires_at) })}</p>
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
              {t("reports.share.make")}
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
