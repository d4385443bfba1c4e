import { Button, Select, TagsInput, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Service } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { parseLabel } from "../../core/hosts/labels";
import { patch, post, queryKeys, remove, useAction } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { SourceCheck } from "./SourceCheck";
import { SourceFields } from "./SourceFields";
import {
  isServiceComplete,
  type LocateKind,
  type ServiceDraft,
  toServiceBody,
  toServiceDraft,
  toServiceUpdate,
} from "./serviceDraft";
import classes from "./services.module.css";

const LOCATE: readonly LocateKind[] = ["any", "unit", "container", "port", "cgroup"];

/** Dialog that creates or edits a service. */
export function ServiceDialog({ service, onClose }: { service?: Service; onClose: () => void }) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState<ServiceDraft>(() => toServiceDraft(service));
  const [sure, setSure] = useState(false);
  const [once] = useState(() => crypto.randomUUID());
  const change = (some: Partial<ServiceDraft>) => setDraft((before) => ({ ...before, ...some }));
  const save = useAction(
    () =>
      service
        ? patch(`/services/${service.id}`, toServiceUpdate(draft))
        : post("/services", toServiceBody(draft), once),
    [queryKeys.services],
    onClose,
  );
  const drop = useAction((id: string) => remove(`/services/${id}`), [queryKeys.services], onClose);
  const forget = useAction(
    (id: string) => patch(`/services/${id}`, { no_token: true }),
    [queryKeys.services],
  );
  return (
    <Dialog
      onClose={onClose}
      title={service ? t("services.editTitle", { name: service.name }) : t("services.add")}
      size="lg"
    >
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (isServiceComplete(draft)) save.mutate(undefined);
        }}
      >
        <TextInput
          label={t("services.name")}
          value={draft.name}
          maxLength={64}
          onChange={(event) => change({ name: event.currentTarget.value })}
          data-autofocus
        />
        <TagsInput
          label={t("services.selector")}
          description={t("services.selectorText")}
          placeholder="role=feed"
          value={draft.selector}
          onChange={(selector) => change({ selector })}
          error={draft.selector.some((label) => !parseLabel(label)) && t("services.selectorBad")}
        />
        <div className={classes.row}>
          <Select
            label={t("services.locate")}
            data={LOCATE.map((value) => ({ value, label: t(`services.locateKinds.${value}`) }))}
            value={draft.locateKind}
            onChange={(kind) => kind && change({ locateKind: kind as LocateKind })}
            allowDeselect={false}
          />
          {draft.locateKind !== "any" && (
            <TextInput
              label={t("services.locateValue")}
              value={draft.locateValue}
              onChange={(event) => change({ locateValue: event.currentTarget.value })}
            />
          )}
        </div>
        <SourceFields draft={draft} hasToken={service?.has_token ?? false} onChange={change} />
        <ErrorLine error={save.error ?? drop.error ?? forget.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={save.isPending} disabled={!isServiceComplete(draft)}>
            {service ? t("action.save") : t("services.add")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          {service?.has_token && (
            <Button variant="default" loading={forget.isPending} onClick={() => forget.mutate(service.id)}>
              {t("services.forgetToken")}
            </Button>
          )}
          {service && (
            <Button
              className={classes.pushRight ?? ""}
              variant={sure ? "filled" : "default"}
              color="red"
              loading={drop.isPending}
              onClick={() => (sure ? drop.mutate(service.id) : setSure(true))}
            >
              {t(sure ? "services.removeSure" : "services.remove")}
            </Button>
          )}
        </div>
      </form>
      {service?.source.kind === "prometheus" && <SourceCheck service={service} />}
    </Dialog>
  );
}
