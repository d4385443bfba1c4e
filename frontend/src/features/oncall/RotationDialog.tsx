import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Rotation } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { scheduleKeys } from "../../lib/captures/schedules";
import { patch, post, put, remove, useAction } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./oncall.module.css";
import {
  defaultFirstDay,
  isRotationComplete,
  KINDS,
  type RotationDraft,
  type RotationKind,
  toRotationBody,
  toRotationDraft,
} from "./rotationDraft";
import { SourceFields } from "./SourceFields";

/** Dialog that creates or edits a rotation. */
export function RotationDialog({ rotation, onClose }: { rotation?: Rotation; onClose: () => void }) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState<RotationDraft>(() =>
    toRotationDraft(
      Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
      defaultFirstDay(new Date()),
      rotation,
    ),
  );
  const [file, setFile] = useState<File | null>(null);
  const [sure, setSure] = useState(false);
  const [once] = useState(() => crypto.randomUUID());
  const change = (some: Partial<RotationDraft>) => setDraft((before) => ({ ...before, ...some }));
  const save = useAction(
    async () => {
      const saved = rotation
        ? await patch(`/rotations/${rotation.id}`, { ...toRotationBody(draft), version: rotation.version })
        : await post("/rotations", toRotationBody(draft), once);
      if (!file || draft.kind !== "calendar") return saved;
      const form = new FormData();
      form.set("file", file);
      return put(`/rotations/${saved.id}/calendar`, form);
    },
    [scheduleKeys.oncall],
    onClose,
  );
  const drop = useAction((id: string) => remove(`/rotations/${id}`), [scheduleKeys.oncall], onClose);
  return (
    <Dialog
      onClose={onClose}
      title={rotation ? t("oncall.editTitle", { name: rotation.name }) : t("oncall.add")}
      size="lg"
    >
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (isRotationComplete(draft, rotation)) save.mutate(undefined);
        }}
      >
        <TextInput
          label={t("oncall.name")}
          value={draft.name}
          maxLength={64}
          onChange={(event) => change({ name: event.currentTarget.value })}
          data-autofocus
        />
        <SegmentedControl
          aria-label={t("oncall.kind")}
          data={KINDS.map((value) => ({ value, label: t(`oncall.kinds.${value}`) }))}
          value={draft.kind}
          onChange={(kind) => change({ kind: kind as RotationKind })}
          disabled={rotation !== undefined}
        />
        <p className={classes.hint}>{t(`oncall.kindText.${draft.kind}`)}</p>
        <SourceFields draft={draft} rotation={rotation} file={file} onFile={setFile} onChange={change} />
        <ErrorLine error={save.error ?? drop.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={save.isPending} disabled={!isRotationComplete(draft, rotation)}>
            {rotation ? t("action.save") : t("oncall.add")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          {rotation && (
            <Button
              className={classes.pushRight ?? ""}
              variant={sure ? "filled" : "default"}
              color="red"
              loading={drop.isPending}
              onClick={() => (sure ? drop.mutate(rotation.id) : setSure(true))}
            >
              {t(sure ? "oncall.removeSure" : "oncall.remove")}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
