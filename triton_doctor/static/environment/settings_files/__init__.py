"""One reader for each kind of file that sets environment variables, beside Python."""
