import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ConfirmDelete } from "../../components/ConfirmDelete";
import { ErrorLine, QueryContent } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { Tag, TierTag } from "../../components/StatusIcon";
import { parseLabel } from "../../core/hosts/labels";
import { get, post, remove, useAction, usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { UNATTENDED_TIERS } from "./api";
import classes from "./triggers.module.css";

const labelText = (label: Record<string, string>) =>
  Object.entries(label)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");

/** Labels of hosts on which unattended captures can exceed the light tier. */
export function UnattendedTiers() {
  const { t } = useTranslation();
  const can = usePermission();
  const [label, setLabel] = useState("");
  const pair = parseLabel(label);
  const tiers = useQuery({
    queryKey: UNATTENDED_TIERS,
    queryFn: () => get("/unattended-tiers"),
  });
  const allow = useAction(
    () => post("/unattended-tiers", { label: pair ? { [pair[0]]: pair[1] } : {} }),
    [UNATTENDED_TIERS],
    () => setLabel(""),
  );
  const forbid = useAction((id: string) => remove(`/unattended-tiers/${id}`), [UNATTENDED_TIERS]);
  const manages = can("tier.allow");
  return (
    <Panel flush title={t("triggers.allowances.title")}>
      <p className={classes.note}>{t("triggers.allowances.text")}</p>
      <QueryContent query={tiers}>
        {(rows) => (
          <div className={classes.line}>
            {rows.length === 0 && <span className="dim">{t("triggers.allowances.none")}</span>}
            {rows.map((row) => (
              <span key={row.id} className={classes.tags}>
                <Tag>{labelText(row.label)}</Tag>
                <TierTag tier={row.tier} />
                {manages && (
                  <ConfirmDelete
                    label={t("triggers.allowances.forbid", { label: labelText(row.label) })}
                    onClick={() => forbid.mutate(row.id)}
                  />
                )}
              </span>
            ))}
          </div>
        )}
      </QueryContent>
      {manages && (
        <form
          className={classes.line}
          onSubmit={(event) => {
            event.preventDefault();
            if (pair) allow.mutate(undefined);
          }}
        >
          <TextInput
            size="xs"
            label={t("triggers.allowances.label")}
            placeholder="role=feed"
            value={label}
            onChange={(event) => setLabel(event.currentTarget.value)}
          />
          <Button type="submit" disabled={!pair} loading={allow.isPending}>
            {t("triggers.allowances.allow")}
          </Button>
          <ErrorLine error={allow.error ?? forbid.error} />
        </form>
      )}
    </Panel>
  );
}
