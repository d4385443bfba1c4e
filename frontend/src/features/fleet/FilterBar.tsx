import { SegmentedControl, Select, TextInput } from "@mantine/core";
import { Search as SearchIcon } from "lucide-react";
import { useMemo } from "react";
import type { FleetPeers } from "../../client/models";
import { labelNames, labelPairs, SORTS } from "../../core/hosts/fleet";
import { formatSeconds } from "../../core/text/format";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { useSlashFocus } from "../../lib/useSlashFocus";
import type { FleetHost } from "./api";
import classes from "./Fleet.module.css";
import { FIELDS, MAX_AGE_CHOICES } from "./fields";

interface Props {
  hosts: readonly FleetHost[];
  /** Labels that can group peers. */
  labels: FleetPeers["labels"] | undefined;
  defaultLabel: string | undefined;
}

/** Controls for filters, groups, order and the maximum age of runs. All state is in the URL. */
export function FilterBar({ hosts, labels, defaultLabel }: Props) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(FIELDS);
  const search = useSlashFocus();
  const peers = state.view === "peers";
  const pairs = useMemo(() => labelPairs(hosts), [hosts]);
  const offered = state.has && !pairs.includes(state.has) ? [state.has, ...pairs] : pairs;
  const names = useMemo(
    () => (peers && labels ? labels.map((label) => label.name) : labelNames(hosts)),
    [peers, labels, hosts],
  );
  const label = peers ? state.label || defaultLabel || "" : state.label;
  return (
    <div className={classes.tools}>
      {!peers && (
        <TextInput
          ref={search}
          size="xs"
          className={classes.search ?? ""}
          leftSection={<SearchIcon size={13} />}
          rightSection={<kbd className="dim">/</kbd>}
          placeholder={t("fleet.search")}
          aria-label={t("fleet.search")}
          value={state.q}
          onChange={(event) => set({ q: event.currentTarget.value })}
        />
      )}
      <Select
        size="xs"
        className={classes.pair ?? ""}
        data={offered.map((value) => ({ value, label: value.replace(":", "=") }))}
        value={state.has || null}
        onChange={(has) => set({ has: has ?? "" })}
        placeholder={t("hosts.anyLabel")}
        aria-label={t("hosts.label")}
        searchable
        clearable
        limit={60}
      />
      {(names.length > 0 || !peers) && (
        <Select
          size="xs"
          className={classes.select ?? ""}
          data={[
            ...(peers ? [] : [{ value: "", label: t("fleet.noGroup") }]),
            ...names.map((name) => ({ value: name, label: t("fleet.groupBy", { label: name }) })),
          ]}
          value={label}
          onChange={(next) => set({ label: next ?? "", measure: "" })}
          aria-label={t("fleet.group")}
        />
      )}
      {!peers && (
        <Select
          size="xs"
          className={classes.select ?? ""}
          data={SORTS.map((sort) => ({ value: sort, label: t(`fleet.sort.${sort}`) }))}
          value={state.sort}
          onChange={(sort) => set({ sort: (sort ?? "worst") as (typeof SORTS)[number] })}
          aria-label={t("fleet.sortBy")}
        />
      )}
      <Select
        size="xs"
        className={classes.select ?? ""}
        data={MAX_AGE_CHOICES.map((item) => ({
          value: item,
          label: t("fleet.staleAfter", { age: formatSeconds(Number(item)) }),
        }))}
        value={state.fresh}
        onChange={(fresh) => set({ fresh: (fresh ?? "86400") as (typeof MAX_AGE_CHOICES)[number] })}
        aria-label={t("fleet.maxAge")}
      />
      {state.view === "use" && (
        <SegmentedControl
          size="xs"
          value={state.size}
          onChange={(size) => set({ size: size as "full" | "dense" })}
          data={(["full", "dense"] as const).map((item) => ({ value: item, label: t(`fleet.size.${item}`) }))}
          aria-label={t("fleet.density")}
        />
      )}
    </div>
  );
}
