import type { LocalizedText, Remediation } from "../../client/models";
import { CommandLine } from "../../components/fields/CopyButton";
import { Link } from "../../components/Link";
import { PlaybookText } from "../../components/text/PlaybookText";
import { useLocalized } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useNumberName } from "../../lib/text/useNumberName";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Playbooks.module.css";

/** Remediations of a playbook: when to use them, command, risk, rollback and the number that verifies them. */
export function Remediations({ remediations }: { remediations: readonly Remediation[] }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const numberName = useNumberName();
  return (
    <div>
      {remediations.map((remediation) => (
        <article key={remediation.id} className={classes.remediation} id={`remediation-${remediation.id}`}>
          <h3 className={classes.remediationTitle}>{localize(remediation.title)}</h3>
          <p className={classes.line}>
            <PlaybookText text={remediation.when} />
          </p>
          {remediation.command && <CommandLine text={remediation.command} />}
          <dl className={classes.terms}>
            <Term name={t("playbooks.risk")} text={remediation.risk} />
            <Term name={t("playbooks.rollback")} text={remediation.rollback} />
            {remediation.verifies && (
              <div>
                <dt>{t("playbooks.verifies")}</dt>
                <dd title={remediation.verifies}>{numberName(remediation.verifies)}</dd>
              </div>
            )}
            <Term name={t("playbooks.correction")} text={remediation.correction} />
          </dl>
          <LinkedText title={t("playbooks.rules")} ids={remediation.findings} kind="rule" />
          <LinkedText title={t("playbooks.causes")} ids={remediation.causes} kind="cause" />
        </article>
      ))}
    </div>
  );
}

function Term({ name, text }: { name: string; text: LocalizedText | null }) {
  if (!text) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <PlaybookText text={text} />
      </dd>
    </div>
  );
}

function LinkedText({ title, ids, kind }: { title: string; ids: readonly string[]; kind: "rule" | "cause" }) {
  const names = useNames();
  if (ids.length === 0) return null;
  return (
    <p className={classes.meta}>
      <span>{title}</span>
      {ids.map((id) => (
        <Link
          key={id}
          to="/rules"
          search={kind === "rule" ? { rule: id } : { view: "causes", cause: id }}
          title={id}
        >
          {names[kind](id)}
        </Link>
      ))}
    </p>
  );
}
