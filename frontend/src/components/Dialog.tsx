import { Modal, type ModalProps } from "@mantine/core";
import { useTranslation } from "../lib/text/useTranslation";

/** A dialog over the screen; Esc and the close button leave it. */
export function Dialog({ children, ...props }: Omit<ModalProps, "opened" | "closeButtonProps">) {
  const { t } = useTranslation();
  return (
    <Modal opened closeButtonProps={{ "aria-label": t("action.close") }} {...props}>
      {children}
    </Modal>
  );
}
