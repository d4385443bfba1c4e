import { Checkbox, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { CollectorInfo } from "../../client/types";
import { Tag, TierTag } from "../../components/Mark";
import { usePick } from "../../lib/i18n";
import classes from "./NewCapture.module.css";
import { type OptionDraft, optionFits } from "./scope";

interface ChoiceProps {
  collectors: readonly CollectorInfo[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}

/** Every collector there is; those that no plan contains are marked. */
export function CollectorChoice({ collectors, chosen, onChange }: ChoiceProps) {
  const { t } = useTranslation();
  const pick = usePick();
  return (
    <Checkbox.Group value={[...chosen]} onChange={onChange} label={t("preflight.collectors")}>
      <div className={classes.choices}>
        {collectors.map((one) => (
          <span key={one.id} className={classes.choice}>
            <Checkbox
              size="xs"
              value={one.id}
              label={<span title={pick(one.why)}>{pick(one.title)}</span>}
              disabled={chosen.length >= 60 && !chosen.includes(one.id)}
            />
            <span className={classes.tags}>
              {one.on_demand && <Tag title={t("newCapture.onDemandText")}>{t("newCapture.onDemand")}</Tag>}
              <TierTag tier={one.tier} />
            </span>
          </span>
        ))}
      </div>
    </Checkbox.Group>
  );
}

interface OptionProps {
  collectors: readonly CollectorInfo[];
  draft: OptionDraft;
  /** What the server says against one of them: the whole sentence, and which collector and option it names. */
  refused: { text: string; collector: unknown; option: unknown } | undefined;
  onChange: (draft: OptionDraft) => void;
}

/** What chosen collectors can be told: a port, a path, a function. */
export function OptionFields({ collectors, draft, refused, onChange }: OptionProps) {
  const { t } = useTranslation();
  const pick = usePick();
  const asking = collectors.filter((one) => one.options.length > 0);
  if (asking.length === 0) return null;
  return (
    <fieldset className={classes.options}>
      <legend>{t("newCapture.options")}</legend>
      {asking.map(({ id, title, options }) => (
        <fieldset key={id} className={classes.optionRow} aria-label={pick(title)}>
          <span className={classes.optionOf}>{pick(title)}</span>
          {options.map((option) => {
            const value = draft[id]?.[option.name] ?? "";
            const named = refused?.collector === id && refused.option === option.name;
            const misfit =
              value.trim() !== "" &&
              !optionFits(option, value.trim()) &&
              t("newCapture.optionBad", { pattern: option.pattern });
            return (
              <TextInput
                key={option.name}
                label={pick(option.title)}
                required={option.required}
                placeholder={
                  option.default ||
                  t(option.required ? "newCapture.optionRequired" : "newCapture.optionEmpty")
                }
                classNames={{ input: "mono" }}
                autoComplete="off"
                spellCheck={false}
                maxLength={1000}
                value={value}
                onChange={(event) => {
                  const typed = event.currentTarget.value;
                  onChange({ ...draft, [id]: { ...draft[id], [option.name]: typed } });
                }}
                error={misfit || (named && refused.text)}
              />
            );
          })}
        </fieldset>
      ))}
    </fieldset>
  );
}
