import { Checkbox, TextInput } from "@mantine/core";
import type { CollectorInfo } from "../../client/models";
import { Tag, TierTag } from "../../components/StatusIcon";
import { useLocalized } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./NewCapture.module.css";
import { isOptionValid, type OptionDraft } from "./scope";

interface CollectorSelectProps {
  collectors: readonly CollectorInfo[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}

/** Checkboxes of all collectors; on-demand collectors, which no plan contains, are marked. */
export function CollectorSelect({ collectors, chosen, onChange }: CollectorSelectProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  return (
    <Checkbox.Group value={[...chosen]} onChange={onChange} label={t("preflight.collectors")}>
      <div className={classes.choices}>
        {collectors.map((collector) => (
          <span key={collector.id} className={classes.choice}>
            <Checkbox
              size="xs"
              value={collector.id}
              label={<span title={localize(collector.why)}>{localize(collector.title)}</span>}
              disabled={chosen.length >= 60 && !chosen.includes(collector.id)}
            />
            <span className={classes.tags}>
              {collector.on_demand && (
                <Tag title={t("newCapture.onDemandText")}>{t("newCapture.onDemand")}</Tag>
              )}
              <TierTag tier={collector.tier} />
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
  /** The server's error: its message, and the collector and option that it names. */
  refused: { text: string; collector: unknown; option: unknown } | undefined;
  onChange: (draft: OptionDraft) => void;
}

/** Form fields for the options of the selected collectors, such as a port, a path or a function. */
export function OptionFields({ collectors, draft, refused, onChange }: OptionProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const configurable = collectors.filter((collector) => collector.options.length > 0);
  if (configurable.length === 0) return null;
  return (
    <fieldset className={classes.options}>
      <legend>{t("newCapture.options")}</legend>
      {configurable.map(({ id, title, options }) => (
        <fieldset key={id} className={classes.optionRow} aria-label={localize(title)}>
          <span className={classes.optionOf}>{localize(title)}</span>
          {options.map((option) => {
            const value = draft[id]?.[option.name] ?? "";
            const named = refused?.collector === id && refused.option === option.name;
            const misfit =
              value.trim() !== "" &&
              !isOptionValid(option, value.trim()) &&
              t("newCapture.optionBad", { pattern: option.pattern });
            return (
              <TextInput
                key={option.name}
                label={localize(option.title)}
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
