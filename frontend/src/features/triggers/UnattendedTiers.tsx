import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { TierAllowance } from "../../client/triggers";
import { Drop } from "../../components/Drop";
import { Tag, TierTag } from "../../components/Mark";
import { Panel } from "../../components/Page";
import { ErrorLine, Loaded } from "../../components/States";
import { parseLabel } from "../../core/labels";
import { get, post, remove, useAction, useMay } from "../../lib/queries";
import { ALLOWANCES } from "./data";
import classes from "./triggers.module.css";

const shown = (label: Record<string, string>) =>
  Object.entries(label)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");

/** The labels on whose hosts more than the light tier may run while nobody watches. */
export function Allowances() {
  const { t } = useTranslation();
  const may = useMay();
  const [label, setLabel] = useState("");
  const pair = parseLabel(label);
  const allowances = useQuery({
    queryKey: ALLOWANCES,
    queryFn: () => get<TierAllowance[]>("/tier-allowances"),
  });
  const allow = useAction(
    () => post<TierAllowance>("/tier-allowances", { label: pair ? { [pair[0]]: pair[1] } : {} }),
    [ALLOWANCES],
    () => setLabel(""),
  );
  const forbid = useAction((id: string) => remove(`/tier-allowances/${id}`), [ALLOWANCES]);
  const manages = may("tier.allow");
  return (
    <Panel flush title={t("triggers.allowances.title")}>
      <p className={classes.note}>{t("triggers.allowances.text")}</p>
      <Loaded query={allowances}>
        {(rows) => (
          <div className={classes.line}>
            {rows.length === 0 && <span className="dim">{t("triggers.allowances.none")}</span>}
            {rows.map((one) => (
              <span key={one.id} className={classes.tags}>
                <Tag>{shown(one.label)}</Tag>
                <TierTag tier={one.tier} />
                {manages && (
                  <Drop
                    label={t("triggers.allowances.forbid", { label: shown(one.label) })}
                    onClick={() => forbid.mutate(one.id)}
                  />
                )}
              </span>
            ))}
          </div>
        )}
      </Loaded>
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
