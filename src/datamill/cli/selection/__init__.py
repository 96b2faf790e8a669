"""The verb selection and what stands under it."""
