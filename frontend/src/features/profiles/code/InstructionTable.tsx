import { Flame } from "lucide-react";
import { useMemo } from "react";
import type { DisassemblyListing } from "../../../client/models";
import { DataTable } from "../../../components/tables/DataTable";
import { cx } from "../../../core/cx";
import { moduleName } from "../../../core/profiles/colors";
import { formatAddress, type Instruction, listInstructionRows } from "../../../core/profiles/instructions";
import { formatCount, formatPercent } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "./Code.module.css";

/** Share of the function's samples from which an instruction is marked. */
const HOT = 0.1;
const WARM = 0.01;

interface Props {
  listing: DisassemblyListing;
  hottest: number | undefined;
  /** Offsets of the first instructions of opened runs. */
  open: ReadonlySet<number>;
  onOpen(first: number): void;
}

/** Instructions in order of address; without code, the sampled addresses. */
export function InstructionTable({ listing, hottest, open, onOpen }: Props) {
  const { t } = useTranslation();
  const rows = useMemo(() => listInstructionRows(listing.instructions, open), [listing, open]);
  const hasCode = listing.code_reason === null;
  const hasLines = listing.files.length > 0;
  const columns = 3 + (hasCode ? 1 : 0) + (hasLines ? 1 : 0);
  return (
    <DataTable label={t("profile.code.table")} maxHeight="56vh">
      <thead>
        <tr>
          <th className="right">{t("profile.code.share")}</th>
          <th className="right">{t("profile.code.samples")}</th>
          <th className="right">{t("profile.code.address")}</th>
          {hasCode && <th>{t("profile.code.instruction")}</th>}
          {hasLines && <th>{t("profile.code.line")}</th>}
        </tr>
      </thead>
      <tbody className={classes.rows}>
        {rows.map((row) =>
          row.kind === "folded" ? (
            <tr key={`folded ${row.first}`}>
              <td colSpan={columns}>
                <button type="button" className={classes.folded} onClick={() => onOpen(row.first)}>
                  {t("profile.code.folded", { count: row.count })}
                </button>
              </td>
            </tr>
          ) : (
            <InstructionLine
              key={row.instruction.offset}
              listing={listing}
              instruction={row.instruction}
              startsLine={row.startsLine}
              isHottest={row.instruction.offset === hottest}
              hasCode={hasCode}
              hasLines={hasLines}
            />
          ),
        )}
      </tbody>
    </DataTable>
  );
}

interface LineProps {
  listing: DisassemblyListing;
  instruction: Instruction;
  startsLine: boolean;
  isHottest: boolean;
  hasCode: boolean;
  hasLines: boolean;
}

function InstructionLine({ listing, instruction, startsLine, isHottest, hasCode, hasLines }: LineProps) {
  const { t } = useTranslation();
  const { samples, offset } = instruction;
  const share = samples / Math.max(1, listing.function_samples);
  const path = instruction.file === null ? "" : (listing.files[instruction.file] ?? "");
  return (
    <tr
      className={cx(share >= HOT ? classes.hot : share >= WARM && classes.warm)}
      data-hottest={isHottest || undefined}
    >
      <td className="right num">
        {isHottest && (
          <>
            <Flame size={12} aria-hidden className={classes.mark} />
            <span className="visually-hidden">{t("profile.code.hottest")}</span>{" "}
          </>
        )}
        {samples > 0 && formatPercent(share)}
      </td>
      <td className="right num">{samples > 0 && formatCount(samples)}</td>
      <td className="right num" title={t("profile.code.offset", { offset: offset.toString(16) })}>
        {formatAddress(listing, offset)}
      </td>
      {hasCode && (
        <td className={classes.text}>
          {instruction.text}
          {instruction.callee !== null && <span className={classes.callee}>{instruction.callee}</span>}
          {instruction.target !== null && (
            <span className={classes.callee}>
              {instruction.target > offset ? "↓" : "↑"} +0x{instruction.target.toString(16)}
            </span>
          )}
        </td>
      )}
      {hasLines && (
        <td className={classes.source} title={path && `${path}:${instruction.line}`}>
          {startsLine && `${moduleName(path)}:${instruction.line}`}
        </td>
      )}
    </tr>
  );
}
