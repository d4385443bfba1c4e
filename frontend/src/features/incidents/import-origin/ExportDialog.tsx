import { Button, Checkbox, Radio } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../../components/Dialog";
import { ErrorLine } from "../../../components/EmptyState";
import { download } from "../../../lib/api";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { IncidentDialogProps } from "../dialogs/types";
import classes from "../page/Incidents.module.css";

const EXPORT_OPTIONS = ["whole", "redacted"] as const;

/** Dialog that exports an incident bundle. It fetches the file instead of linking to it, to display errors. */
export function ExportDialog({ incident, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const [how, setHow] = useState<(typeof EXPORT_OPTIONS)[number]>("whole");
  const [chosen, setChosen] = useState<boolean>();
  // Comments are meant for colleagues, so a redacted export omits them by default.
  const comments = chosen ?? how === "whole";
  const make = useMutation({
    mutationFn: () =>
      download(`/incidents/${incident.id}/export`, { redacted: how === "redacted", comments }),
    onSuccess: (file) => {
      saveFile(file);
      onClose();
    },
  });
  return (
    <Dialog onClose={onClose} title={t("incidents.export.title")} size="40rem">
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        <Radio.Group
          aria-label={t("incidents.export.title")}
          value={how}
          onChange={(value) => {
            setHow(value as "whole");
            make.reset();
          }}
        >
          <div className={classes.form}>
            {EXPORT_OPTIONS.map((value) => (
              <Radio
                key={value}
                value={value}
                label={t(`incidents.export.${value}`)}
                description={t(`incidents.export.${value}Text`)}
              />
            ))}
          </div>
        </Radio.Group>
        <Checkbox
          label={t("incidents.export.comments")}
          checked={comments}
          onChange={(event) => setChosen(event.currentTarget.checked)}
        />
        {make.isPending && <p role="status">{t("incidents.export.making")}</p>}
        <ErrorLine error={make.error} />
        <div className={classes.bottom}>
          <Button variant="default" size="sm" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button type="submit" size="sm" data-autofocus loading={make.isPending}>
            {t("incidents.export.submit")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function saveFile(file: File): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = file.name;
  link.click();
  // The browser has started the download by the next task of the event loop.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
