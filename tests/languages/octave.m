1; % Runs Octave code. interpreter.py describes the lines that are read and written.

% Returns the array of elements that are listed row by row. A shape without two axes gets trailing axes of size 1.
function x = from_rows(given)
  shape = [given.shape(:)', ones(1, 2 - numel(given.shape))];
  rank = numel(shape);
  x = permute(reshape(given.data, fliplr(shape)), rank:-1:1);
  switch given.dtype
    case "bool"
      x = logical(x);
    case "float32"
      x = single(x);
    case "int32"
      x = int32(x);
  end
end

function line = answer(job)
  names = fieldnames(job.inputs);
  for number = 1:numel(names)
    eval([names{number}, " = from_rows(job.inputs.(names{number}));"]);
  end
  try
    eval(job.code);
    line = "";
    for number = 1:numel(job.outputs)
      y = eval(job.outputs{number});
      data = double(permute(y, ndims(y):-1:1)(:)');
      line = [line, ', ', sprintf('{"shape": %s, "data": %s}', jsonencode(size(y)), jsonencode(data))];
    end
    line = ['{"outputs": [', line(3:end), "]}"];
  catch failure
    line = ['{"error": ', jsonencode(["error: ", failure.message]), "}"];
  end
end

printf('{"version": "%s"}\n', version());
fflush(stdout);
while true % fgetl(stdin) would wait for the end of the input
  try
    line = input("", "s");
  catch
    break;
  end
  printf("%s\n", answer(jsondecode(line)));
  fflush(stdout);
end
