import { Button, TagsInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Trigger, TriggerTested } from "../../client/triggers";
import { Mark, TierTag } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { labelsOf } from "../../core/labels";
import { useSentence } from "../../lib/i18n";
import { post, useAction } from "../../lib/queries";
import classes from "./triggers.module.css";

/** Sends labels to see what they would lead to; nothing is started. */
export function TryTrigger({ trigger }: { trigger: Trigger }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const [labels, setLabels] = useState<string[]>(["alertname=HighLatency"]);
  const [found, setFound] = useState<TriggerTested>();
  const test = useAction(
    async () =>
      setFound(await post<TriggerTested>(`/triggers/${trigger.id}/test`, { labels: labelsOf(labels) })),
    [],
  );
  return (
    <section className={classes.stack} aria-label={t("triggers.try.title")}>
      <TagsInput
        label={t("triggers.try.title")}
        description={t("triggers.try.text")}
        placeholder="instance=feed-7:9100"
        value={labels}
        onChange={setLabels}
      />
      <div className={classes.buttons}>
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate(undefined)}>
          {t("triggers.try.send")}
        </Button>
        {found && (
          <span role="status" className={classes.tags}>
            <Mark tone={found.state === "fired" ? "ok" : "warn"}>
              {t(`triggers.state.${found.state}`)} {found.host?.name} {found.service}
            </Mark>
            {found.reason && <span>{sentence(found.reason)}</span>}
            {found.peers.length > 0 && (
              <span>{t("triggers.with", { peers: found.peers.map((one) => one.name).join(", ") })}</span>
            )}
            {found.tiers.map((tier) => (
              <TierTag key={tier} tier={tier} />
            ))}
          </span>
        )}
      </div>
      <ErrorLine error={test.error} />
    </section>
  );
}
