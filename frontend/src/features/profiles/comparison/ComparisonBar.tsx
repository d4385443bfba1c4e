import { Button, NumberInput, SegmentedControl } from "@mantine/core";
import { ArrowLeftRight } from "lucide-react";
import { NORMALIZATIONS, type Normalization } from "../../../core/profiles/difference";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import classes from "../Profile.module.css";
import { COMPARISON_FIELDS, type ComparisonWork, chooseRequestCount } from "./state";

interface Props {
  /** Normalizations that this comparison supports; undefined until it has loaded. */
  normalizations: readonly Normalization[] | undefined;
  work: ComparisonWork | undefined;
}

/** Controls for the normalization, for the side that sets the frame widths, and to swap the sides. */
export function ComparisonBar({ normalizations, work }: Props) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(COMPARISON_FIELDS);
  const sides = state.swap ? (["b", "a"] as const) : (["a", "b"] as const);
  const fields = { a: "wa", b: "wb" } as const;
  return (
    <div className={classes.bar}>
      <SegmentedControl
        size="xs"
        aria-label={t("compare.normalize")}
        value={state.by}
        onChange={(value) => set({ by: value as Normalization }, { push: true })}
        data={NORMALIZATIONS.map((value) => ({
          value,
          label: t(`compare.normalizeBy.${value}`),
          disabled: normalizations !== undefined && !normalizations.includes(value),
        }))}
      />
      {state.by === "work" &&
        sides.map((side, i) => (
          <NumberInput
            key={side}
            size="xs"
            className={classes.facet}
            aria-label={t(i === 0 ? "compare.workA" : "compare.workB")}
            placeholder={t("compare.normalizeBy.work")}
            min={0}
            thousandSeparator=","
            hideControls
            value={chooseRequestCount(state[fields[side]], work?.[side]) ?? ""}
            onBlur={(event) => set({ [fields[side]]: event.currentTarget.value.replaceAll(",", "") })}
          />
        ))}
      <span className={classes.hint}>
        {state.by === "work" && work?.a != null && !state.wa && !state.wb
          ? t("compare.workKnown")
          : t(`compare.normalizeHint.${state.by}`)}
      </span>
      <span className={classes.spacer} />
      <span className={classes.labeled}>
        {t("compare.widthOf")}
        <SegmentedControl
          size="xs"
          aria-label={t("compare.widthOf")}
          value={state.width}
          onChange={(value) => set({ width: value as "a" | "b" }, { push: true })}
          data={[
            { value: "a", label: t("compare.widthA") },
            { value: "b", label: t("compare.widthB") },
          ]}
        />
      </span>
      <Button
        size="xs"
        variant="default"
        leftSection={<ArrowLeftRight size={14} />}
        onClick={() => set({ swap: !state.swap }, { push: true })}
      >
        {t("compare.swap")}
      </Button>
    </div>
  );
}
