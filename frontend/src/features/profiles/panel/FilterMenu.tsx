import { Button, Checkbox, Popover, TextInput } from "@mantine/core";
import { ListFilter } from "lucide-react";
import { useEffect, useState } from "react";
import { moduleName } from "../../../core/profiles/colors";
import { formatPercent } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import type { Facets } from "../api";
import { PROFILE_FIELDS } from "../filter";
import classes from "../Profile.module.css";
import { FacetSelect } from "./Facet";

interface Props {
  facets: Facets | undefined;
  total: number;
}

/**
 * Menu of less frequent filters; its button shows how many are set. Control groups and softirqs are listed only if the
 * profile contains them or their filter is set.
 */
export function FilterMenu({ facets, total }: Props) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const share = (weight: number) => formatPercent(total > 0 ? weight / total : 0);
  const groups = facets?.cgroups ?? [];
  const isSet = [state.cpu !== undefined, state.mod !== "", state.cg !== "", state.stack !== ""];
  const count = [...isSet, state.softirq, state.idle].filter(Boolean).length;
  return (
    <Popover position="bottom-start" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <Button variant="default" size="xs" leftSection={<ListFilter size={13} />}>
          {count > 0 ? t("profile.filters.some", { count }) : t("profile.filters.none")}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={classes.display}>
        <FacetSelect
          isNested
          label={t("profile.cpu")}
          value={String(state.cpu ?? "")}
          nameOf={(cpu) => `CPU ${cpu}`}
          onChange={(cpu) => set({ cpu: cpu ? Number(cpu) : undefined })}
          options={(facets?.cpus ?? []).map((item) => [item.cpu, `CPU ${item.cpu} · ${share(item.weight)}`])}
        />
        <FacetSelect
          isNested
          label={t("profile.module")}
          value={state.mod}
          nameOf={moduleName}
          onChange={(mod) => set({ mod })}
          options={(facets?.modules ?? []).map((item) => [
            item.module,
            `${moduleName(item.module)} · ${share(item.weight)}`,
          ])}
        />
        {(state.cg || groups.length > 0) && (
          <FacetSelect
            isNested
            label={t("profile.cgroup")}
            value={state.cg}
            onChange={(cg) => set({ cg })}
            options={groups.map((item) => [item.cgroup, `${item.cgroup} · ${share(item.weight)}`])}
          />
        )}
        {(state.softirq || (facets?.softirq ?? 0) > 0) && (
          <Checkbox
            size="xs"
            label={t("profile.softirqOnly", { share: share(facets?.softirq ?? 0) })}
            checked={state.softirq}
            onChange={(event) => set({ softirq: event.currentTarget.checked })}
          />
        )}
        <StackField />
        <Checkbox
          size="xs"
          label={t("profile.hideIdle")}
          checked={state.idle}
          onChange={(event) => set({ idle: event.currentTarget.checked })}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

/** Pattern that a frame of a stack must match; Enter or blur applies it, because an unfinished pattern is an error. */
function StackField() {
  const { t } = useTranslation();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const [text, setText] = useState(state.stack);
  useEffect(() => setText(state.stack), [state.stack]);
  return (
    <TextInput
      size="xs"
      label={t("profile.stack")}
      description={t("profile.stackHelp")}
      value={text}
      maxLength={200}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={() => text !== state.stack && set({ stack: text.trim() }, { push: true })}
      onKeyDown={(event) => event.key === "Enter" && set({ stack: text.trim() }, { push: true })}
    />
  );
}
